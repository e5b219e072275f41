/* window.c - how many tokens a request has, and whether that is too many. */
#include "window.h"

#include <ctype.h>
#include <stdint.h>

static size_t text_quarters(const char *text)
{
    size_t quarters = 0;

    for (; *text; text++)
        quarters += isdigit((unsigned char)*text) ? 4 : 1;
    return quarters;
}

static size_t quarters_of(const json_t *json)
{
    size_t quarters = 0, i;
    const char *name;
    json_t *one;

    if (json_is_string(json))
        return text_quarters(json_string_value(json));
    json_array_foreach(json, i, one)
        quarters += quarters_of(one);
    /* jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)json, name, one)
        quarters += quarters_of(one);
    return quarters;
}

json_t *window_refusal(const json_t *heard, const json_t *reply)
{
    json_int_t window = json_integer_value(json_object_get(reply, "window"));
    json_int_t tokens =
        (json_int_t)(quarters_of(json_object_get(heard, "messages")) +
                     quarters_of(json_object_get(heard, "tools"))) /
        4;

    if (window == 0 || tokens <= window)
        return NULL;
    return json_pack("{s:i, s:{s:i, s:o, s:s}}", "status", 400, "error", "code",
                     400, "message",
                     json_sprintf("request (%lld tokens) exceeds the available "
                                  "context size (%lld tokens), try increasing "
                                  "it",
                                  (long long)tokens, (long long)window),
                     "type", "exceed_context_size_error");
}
