/* browser.c - see browser.h. */
#include "producer/gateway/browser.h"

#include <stdio.h>
#include <string.h>

#define COOKIE "quern_key"
static const char SAFE_PREFIX[] = "__Host-";
enum { LIFE_S = 30 * 24 * 3600 };

static struct view browser_header(const struct http_exchange *exchange,
                                  const char *name)
{
    struct view value;
    struct err err;

    return http_request_value(exchange, name, &value, &err) ? value : VIEW("");
}

/* The value of the cookie of that name: "a=1; b=2". Of two of that name none
 * counts: whoever serves another port of this host may have set the first one,
 * for a longer path. */
static struct view cookie_named(struct view cookies, const char *name)
{
    size_t name_len = strlen(name);
    struct view value = { "", 0 };
    bool is_there = false;

    while (cookies.len > 0) {
        const char *semicolon = memchr(cookies.data, ';', cookies.len);
        size_t len =
            semicolon ? (size_t)(semicolon - cookies.data) : cookies.len;
        struct view pair = view_trimmed((struct view){ cookies.data, len });

        if (pair.len > name_len && view_starts(pair, name) &&
            pair.data[name_len] == '=') {
            if (is_there)
                return VIEW("");
            is_there = true;
            value = (struct view){ pair.data + name_len + 1,
                                   pair.len - name_len - 1 };
        }
        len += semicolon != NULL;
        cookies = (struct view){ cookies.data + len, cookies.len - len };
    }
    return value;
}

static bool changes_something(const struct http_exchange *exchange)
{
    enum http_method_kind method = http_request_head(exchange)->method;

    return method != HTTP_METHOD_GET && method != HTTP_METHOD_HEAD;
}

static bool cookie_counts(const struct http_exchange *exchange)
{
    struct view site = browser_header(exchange, "Sec-Fetch-Site");

    if (site.len > 0 && !view_is(site, "same-origin") && !view_is(site, "none"))
        return false;
    return !changes_something(exchange) ||
           browser_header(exchange, "X-Quern-Page").len > 0;
}

struct view browser_key(const struct http_exchange *exchange)
{
    struct view cookies = browser_header(exchange, "Cookie");
    struct view key = cookie_named(cookies, "__Host-" COOKIE);

    if (key.len == 0)
        key = cookie_named(cookies, COOKIE);
    return cookie_counts(exchange) ? key : VIEW("");
}

static struct view browser_behind(struct view text, const char *prefix)
{
    size_t len = strlen(prefix);

    return view_starts(text, prefix)
               ? (struct view){ text.data + len, text.len - len }
               : VIEW("");
}

bool browser_is_own_page(const struct http_exchange *exchange)
{
    struct view origin = browser_header(exchange, "Origin");
    struct view host = browser_header(exchange, "Host");

    return host.len > 0 &&
           (view_equal(browser_behind(origin, "http://"), host) ||
            view_equal(browser_behind(origin, "https://"), host));
}

void browser_cookie_write(const struct http_exchange *exchange, const char *key,
                          char cookie[BROWSER_COOKIE_BYTES])
{
    bool is_safe = view_starts(browser_header(exchange, "Origin"), "https://");

    snprintf(cookie, BROWSER_COOKIE_BYTES,
             "%s" COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
             is_safe ? SAFE_PREFIX : "", key, *key ? LIFE_S : 0,
             is_safe ? "; Secure" : "");
}
