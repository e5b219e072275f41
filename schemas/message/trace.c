/* trace.c - the trace that a job belongs to: W3C Trace Context. */
#include "schemas/message/trace.h"

#include <string.h>

enum {
    LEN = 55, /* of a traceparent of version 00 */
    TRACE_AT = 3,
    PARENT_AT = 36,
    FLAGS_AT = 53,
    FLAGS_LEN = 2,
    MAX_KEY = 256,
    MAX_VALUE = 256,
    MAX_TENANT = 241, /* of a key tenant@system */
    MAX_SYSTEM = 14,
};

/* ------------------------------------------------------------- traceparent */

static bool is_hex(struct view text, size_t from, size_t count, bool zeros)
{
    bool zero = true;

    for (size_t i = from; i < from + count; i++) {
        char c = text.data[i];

        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return false;
        zero = zero && c == '0';
    }
    return zeros || !zero;
}

/* version-trace-parent-flags. A later version than 00 may add something behind
 * another '-'; version ff, and a trace or a parent of zeros only, are not
 * valid. */
static bool is_traceparent(struct view text)
{
    const char *at = text.data;

    if (text.len < LEN || at[TRACE_AT - 1] != '-' || at[PARENT_AT - 1] != '-' ||
        at[FLAGS_AT - 1] != '-')
        return false;
    if (text.len > LEN && (memcmp(at, "00", 2) == 0 || at[LEN] != '-'))
        return false;
    return is_hex(text, 0, 2, true) && memcmp(at, "ff", 2) != 0 &&
           is_hex(text, TRACE_AT, TRACE_ID_LEN, false) &&
           is_hex(text, PARENT_AT, TRACE_PARENT_LEN, false) &&
           is_hex(text, FLAGS_AT, FLAGS_LEN, true);
}

static struct view trace_part(struct view traceparent, size_t from, size_t len)
{
    if (traceparent.len < LEN)
        return (struct view){ 0 };
    return (struct view){ traceparent.data + from, len };
}

struct view trace_id(struct view traceparent)
{
    return trace_part(traceparent, TRACE_AT, TRACE_ID_LEN);
}

struct view trace_parent(struct view traceparent)
{
    return trace_part(traceparent, PARENT_AT, TRACE_PARENT_LEN);
}

struct view trace_flags(struct view traceparent)
{
    return trace_part(traceparent, FLAGS_AT, FLAGS_LEN);
}

/* -------------------------------------------------------------- tracestate */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct view trace_trim(struct view text)
{
    while (text.len > 0 && is_blank(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && is_blank(text.data[text.len - 1]))
        text.len--;
    return text;
}

/* The text before the next such byte; it and the byte are taken off rest. */
static struct view trace_cut(struct view *rest, char byte)
{
    const char *end =
        rest->len > 0 ? memchr(rest->data, byte, rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    struct view head = { rest->data, len };

    rest->data += end ? len + 1 : len;
    rest->len -= end ? len + 1 : len;
    return head;
}

static bool is_key_part(struct view part, size_t most, bool digit_first)
{
    if (part.len == 0 || part.len > most)
        return false;
    for (size_t i = 0; i < part.len; i++) {
        char c = part.data[i];
        bool digit = c >= '0' && c <= '9';

        if (!(c >= 'a' && c <= 'z') && !(digit && (i > 0 || digit_first)) &&
            (i == 0 || c == '\0' || !strchr("_-*/", c)))
            return false;
    }
    return true;
}

static bool is_trace_key(struct view key)
{
    struct view system = key, tenant = trace_cut(&system, '@');

    if (tenant.len == key.len)
        return is_key_part(key, MAX_KEY, false);
    return is_key_part(tenant, MAX_TENANT, true) &&
           is_key_part(system, MAX_SYSTEM, false);
}

/* Printable ASCII without ',' and '='. Blanks at its end are not of it. */
static bool is_trace_value(struct view value)
{
    if (value.len == 0 || value.len > MAX_VALUE)
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] < ' ' || value.data[i] > '~' || value.data[i] == '=')
            return false;
    return true;
}

static bool has_key(const struct view *keys, size_t count, struct view key)
{
    for (size_t i = 0; i < count; i++)
        if (view_equal(keys[i], key))
            return true;
    return false;
}

/* Members may be empty, as an HTTP header that was joined from several has
 * them. */
static bool check_tracestate(struct view text, struct err *err)
{
    struct view keys[MAX_TRACE_MEMBERS];
    size_t count = 0;

    for (size_t i = 0; text.len > 0; i++) {
        struct view member = trace_trim(trace_cut(&text, ','));
        struct view value = member, key = trace_cut(&value, '=');

        if (member.len == 0)
            continue;
        if (!is_trace_key(key) || !is_trace_value(value))
            return err_set(err, ERR_REJECT, "bad_field",
                           "tracestate[%zu] is \"%.*s\", must be key=value, as "
                           "W3C Trace Context has it",
                           i, VIEW_ARG(view_head(member, 64)));
        if (has_key(keys, count, key))
            return err_set(err, ERR_REJECT, "bad_field",
                           "tracestate[%zu] has the key \"%.*s\" of an earlier "
                           "member",
                           i, VIEW_ARG(view_head(key, 64)));
        if (count == MAX_TRACE_MEMBERS)
            return err_set(err, ERR_REJECT, "bad_field",
                           "tracestate has more than %d members",
                           MAX_TRACE_MEMBERS);
        keys[count++] = key;
    }
    return true;
}

bool trace_check(const struct trace *trace, struct err *err)
{
    if (trace->parent.len > 0 && !is_traceparent(trace->parent))
        return err_set(err, ERR_REJECT, "bad_field",
                       "traceparent is \"%.*s\", must be 00-<32 hexadecimal "
                       "digits>-<16>-<2> in lower case, as W3C Trace Context "
                       "has it",
                       VIEW_ARG(view_head(trace->parent, 64)));
    if (trace->state.len > 0 && trace->parent.len == 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "tracestate is for a job with traceparent");
    return check_tracestate(trace->state, err);
}
