/* browser.h - the key that a browser brings for the page, in a cookie.
 *
 * The cookie has SameSite=Strict: browsers leave it out of what pages of other
 * sites ask for. Beside that it counts only
 *
 *   - when Sec-Fetch-Site, if there is one, says same-origin, or none: somebody
 *     has typed the address;
 *   - for a request that changes something, when it has the header
 *     X-Quern-Page, which a page of another origin may not send.
 *
 * Programs send their key in a header, and no cookie. */
#ifndef PRODUCER_GATEWAY_BROWSER_H
#define PRODUCER_GATEWAY_BROWSER_H

#include "producer/gateway/http/http_request.h"

enum { BROWSER_COOKIE_BYTES = 160 };

/* The key; "": there is none that counts. */
struct view browser_key(const struct http_exchange *exchange);

/* Whether the request comes from a page of this gateway: its Origin is the Host
 * that it was sent to. */
bool browser_is_own_page(const struct http_exchange *exchange);

/* The value of Set-Cookie. key: "": the cookie ends. Where the page came by
 * https, no other host and no plain connection can set or see it. */
void browser_cookie_write(const struct http_exchange *exchange, const char *key,
                          char cookie[BROWSER_COOKIE_BYTES]);

#endif
