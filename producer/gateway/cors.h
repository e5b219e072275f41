/* cors.h - web pages of other origins that may use the gateway from a browser
 * (the CORS protocol of the Fetch standard).
 *
 * A page sends its key in a header, and never gets cookies or credentials of a
 * browser: so an origin on the list can do what its keys can, and no more. */
#ifndef PRODUCER_GATEWAY_CORS_H
#define PRODUCER_GATEWAY_CORS_H

#include "producer/gateway/http/http_request.h"
#include "schemas/message/err.h"

enum { CORS_HEADERS = 6 };

/* origins: the setting --cors-origins: words with commas, or "*". */
bool cors_check(const char *origins, struct err *err);
bool cors_allows(const char *origins, struct view origin);

/* What an answer has for the page that asks; the number of pairs. They borrow
 * from the request. */
unsigned int cors_answer(const char *origins,
                         const struct http_exchange *exchange,
                         struct http_pair pairs[CORS_HEADERS]);
/* The same when the browser asks first what it may send (a preflight); methods:
 * of the path, "GET, POST". 0: it is no such request, or from an origin that is
 * not on the list. */
unsigned int cors_preflight(const char *origins,
                            const struct http_exchange *exchange,
                            const char *methods,
                            struct http_pair pairs[CORS_HEADERS]);

#endif
