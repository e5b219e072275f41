/* cors.c - see cors.h. */
#include "producer/gateway/cors.h"

#include <string.h>

enum { MOST_ORIGIN_BYTES = 255 };

/* The next word of the list; false at its end. */
static bool origins_next(const char **list, struct view *word)
{
    size_t len;

    *list += strspn(*list, ", ");
    len = strcspn(*list, ", ");
    *word = (struct view){ *list, len };
    *list += len;
    return len > 0;
}

/* scheme://host[:port], as browsers write it. */
static bool origin_is_sound(struct view origin)
{
    struct view rest;

    for (size_t i = 0; i < origin.len; i++)
        if (origin.data[i] <= ' ' || origin.data[i] >= 127)
            return false;
    if (view_starts(origin, "https://"))
        rest = (struct view){ origin.data + 8, origin.len - 8 };
    else if (view_starts(origin, "http://"))
        rest = (struct view){ origin.data + 7, origin.len - 7 };
    else
        return false;
    return rest.len > 0 && origin.len <= MOST_ORIGIN_BYTES &&
           !memchr(rest.data, '/', rest.len);
}

bool cors_check(const char *origins, struct err *err)
{
    struct view word;

    while (origins_next(&origins, &word))
        if (!view_is(word, "*") && !origin_is_sound(word))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "\"%.*s\" is no origin: write https://host or "
                           "https://host:port, without a path",
                           VIEW_ARG(view_head(word, 80)));
    return true;
}

bool cors_allows(const char *origins, struct view origin)
{
    struct view word;

    while (origins_next(&origins, &word))
        if (view_is(word, "*") || view_equal(word, origin))
            return origin_is_sound(origin);
    return false;
}

/* "": there is none, or the list does not have it. */
static struct view origin_of(const char *origins,
                             const struct http_exchange *exchange)
{
    struct view origin = { "", 0 };
    struct err err;

    if (*origins == '\0' ||
        !http_request_value(exchange, "Origin", &origin, &err) ||
        !cors_allows(origins, origin))
        return (struct view){ "", 0 };
    return origin;
}

static unsigned int add_origin(struct view origin, struct http_pair *pairs)
{
    pairs[0] =
        (struct http_pair){ VIEW("Access-Control-Allow-Origin"), origin };
    pairs[1] = (struct http_pair){ VIEW("Vary"), VIEW("Origin") };
    return 2;
}

unsigned int cors_answer(const char *origins,
                         const struct http_exchange *exchange,
                         struct http_pair pairs[CORS_HEADERS])
{
    struct view origin = origin_of(origins, exchange);
    unsigned int count;

    /* An answer without it may be kept, and then be asked for by a page. */
    if (*origins != '\0' && origin.len == 0) {
        pairs[0] = (struct http_pair){ VIEW("Vary"), VIEW("Origin") };
        return 1;
    }
    if (origin.len == 0)
        return 0;
    count = add_origin(origin, pairs);
    pairs[count++] =
        (struct http_pair){ VIEW("Access-Control-Expose-Headers"), VIEW("*") };
    return count;
}

unsigned int cors_preflight(const char *origins,
                            const struct http_exchange *exchange,
                            const char *methods,
                            struct http_pair pairs[CORS_HEADERS])
{
    struct view origin = origin_of(origins, exchange), method = { "", 0 };
    struct err err;
    unsigned int count;

    if (origin.len == 0 ||
        strcmp(http_request_method(exchange), "OPTIONS") != 0 ||
        !http_request_value(exchange, "Access-Control-Request-Method", &method,
                            &err) ||
        method.len == 0)
        return 0;
    count = add_origin(origin, pairs);
    pairs[count++] = (struct http_pair){ VIEW("Access-Control-Allow-Methods"),
                                         view_of(methods) };
    /* "*" has all but this one. */
    pairs[count++] = (struct http_pair){ VIEW("Access-Control-Allow-Headers"),
                                         VIEW("Authorization, *") };
    pairs[count++] =
        (struct http_pair){ VIEW("Access-Control-Max-Age"), VIEW("7200") };
    return count;
}
