/* http_target.c - a request's target, decoded once. */
#include "producer/gateway/http/http_target.h"

#include <string.h>

static bool refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_REJECT, "invalid_target",
                   "the target of the "
                   "request: %s",
                   why);
}

/* Decodes in place the view, which lies in text; forbidden bytes may not come
 * out of an escape. In a query "+" is a blank. */
static bool percent_decode(char *text, struct view *view, const char *forbidden,
                           bool is_query, struct err *err)
{
    char *to = text + (view->data - text);
    const char *from = view->data, *end = from + view->len;
    char *begin = to;

    while (from < end) {
        char byte = *from++;
        if (byte == '+' && is_query)
            byte = ' ';
        if (byte == '%') {
            int high = end - from >= 2 ? byte_hex(from[0]) : -1;
            int low = end - from >= 2 ? byte_hex(from[1]) : -1;
            if (high < 0 || low < 0)
                return refuse(err, "\"%\" without two hexadecimal digits");
            byte = (char)(high * 16 + low);
            from += 2;
            if (!byte || byte_is_of(byte, forbidden) ||
                (!is_query && ((unsigned char)byte < ' ' || byte == 0x7f)))
                return refuse(err, "an escape of a byte that is not allowed "
                                   "there (NUL; in a path also /, \\ and "
                                   "control bytes)");
        }
        *to++ = byte;
    }
    view->len = (size_t)(to - begin);
    return view_is_utf8(*view) ||
           refuse(err, "its bytes are not well-formed UTF-8");
}

static struct view part_to(struct view *rest, char stop)
{
    const char *at = rest->len ? memchr(rest->data, stop, rest->len) : NULL;
    size_t len = at ? (size_t)(at - rest->data) : rest->len;
    struct view part = { rest->data, len };
    size_t used = at ? len + 1 : len;

    rest->data += used;
    rest->len -= used;
    return part;
}

static bool decode_path(struct http_target *target, char *text,
                        struct view path, struct err *err)
{
    part_to(&path, '/'); /* what is before the first one: nothing */
    while (path.len > 0) {
        struct view segment = part_to(&path, '/');
        if (segment.len == 0)
            return refuse(err, "\"//\" is not allowed");
        if (target->segment_count == HTTP_MAX_SEGMENTS)
            return refuse(err, "more than 32 segments");
        if (!percent_decode(text, &segment, "/\\", false, err))
            return false;
        if (view_is(segment, ".") || view_is(segment, ".."))
            return refuse(err, "\".\" and \"..\" are not allowed");
        target->segments[target->segment_count++] = segment;
    }
    return true;
}

static bool decode_query(struct http_target *target, char *text,
                         struct view query, struct err *err)
{
    while (query.len > 0) {
        struct view value = part_to(&query, '&');
        struct view name = part_to(&value, '=');
        if (name.len == 0 && value.len == 0)
            continue;
        if (target->pair_count == HTTP_MAX_PAIRS)
            return refuse(err, "more than 64 pairs in the query");
        if (!percent_decode(text, &name, "", true, err) ||
            !percent_decode(text, &value, "", true, err))
            return false;
        target->pairs[target->pair_count++] = (struct http_pair){ name, value };
    }
    return true;
}

bool http_target_decode(struct http_target *target, char *text, size_t len,
                        struct err *err)
{
    struct view query = { text, len };

    target->segment_count = target->pair_count = 0;
    if (len == 1 && text[0] == '*')
        return true;
    if (len == 0 || text[0] != '/')
        return refuse(err, "it does not begin with \"/\"");
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~' ||
            byte_is_of(text[i], "#\"<>\\^`{|}"))
            return refuse(err, "a byte that must be escaped");
    struct view path = part_to(&query, '?');
    return decode_path(target, text, path, err) &&
           decode_query(target, text, query, err);
}
