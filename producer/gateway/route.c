/* route.c - finds the route of a request. */
#include "producer/gateway/route.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = { "submit", "read", "operate", "admin" };
enum { WORDS = sizeof(words) / sizeof(words[0]) };

const char *scope_word(enum scope scope)
{
    for (unsigned int i = 0; i < WORDS; i++)
        if (scope == 1U << i)
            return words[i];
    return "none";
}

enum scope scope_of_word(struct view word)
{
    for (unsigned int i = 0; i < WORDS; i++)
        if (view_is(word, words[i]))
            return (enum scope)(1U << i);
    return SCOPE_NONE;
}

/* Segment by segment; of a "{...}" any is good. */
static bool route_fits(const char *pattern, const struct http_target *target,
                       struct view params[ROUTE_MAX_PARAMS])
{
    unsigned int at = 0, count = 0;

    if (strcmp(pattern, "/") == 0)
        return target->segment_count == 0;
    while (*pattern == '/') {
        struct view part = { pattern + 1, strcspn(pattern + 1, "/") };

        if (at == target->segment_count)
            return false;
        if (*part.data == '{')
            params[count++] = target->segments[at];
        else if (!view_equal(part, target->segments[at]))
            return false;
        at++;
        pattern = part.data + part.len;
    }
    return at == target->segment_count;
}

static bool takes_method(const struct api_route *route,
                         enum http_method_kind method)
{
    return route->method == method ||
           (route->method == HTTP_METHOD_GET && method == HTTP_METHOD_HEAD);
}

static void add_allowed(struct route_match *match, enum http_method_kind method)
{
    size_t len = strlen(match->allow);
    const char *more = method == HTTP_METHOD_GET ? ", HEAD" : "";

    snprintf(match->allow + len, sizeof(match->allow) - len, "%s%s%s",
             len > 0 ? ", " : "", http_method_text(method), more);
}

/* Whether it is the route; of another method, the method is noted. */
static bool route_takes(struct route_match *match,
                        const struct api_route *route,
                        const struct http_head *head)
{
    if (!route_fits(route->pattern, &head->target, match->params))
        return false;
    if (takes_method(route, head->method))
        return true;
    add_allowed(match, route->method);
    return false;
}

void route_find(struct route_match *match,
                const struct route_table *const *tables,
                const struct http_head *head)
{
    *match = (struct route_match){ .route = NULL };
    for (; *tables; tables++)
        for (size_t i = 0; i < (*tables)->count; i++)
            if (route_takes(match, &(*tables)->routes[i], head)) {
                match->route = &(*tables)->routes[i];
                match->kind = (*tables)->name;
                return;
            }
}
