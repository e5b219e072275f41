/* sse.c - server-sent events out of bytes that come in any pieces. */
#include "consumer/model/sse.h"

#include <string.h>

void sse_init(struct sse *sse, sse_event *on_event, void *owner)
{
    *sse = (struct sse){ .on_event = on_event, .owner = owner };
    buf_init(&sse->line, SSE_MAX_LINE);
    buf_init(&sse->data, SSE_MAX_LINE);
    buf_init(&sse->name, SSE_MAX_NAME);
}

void sse_finish(struct sse *sse)
{
    if (!sse)
        return;
    buf_finish(&sse->line);
    buf_finish(&sse->data);
    buf_finish(&sse->name);
}

bool sse_overflow(const struct sse *sse)
{
    return !buf_ok(&sse->line) || !buf_ok(&sse->data);
}

/* Gives the event, which is whole. One without data is none. */
static void dispatch(struct sse *sse)
{
    if (sse->has_data &&
        !sse->on_event(sse->owner, buf_view(&sse->name), buf_view(&sse->data)))
        sse->stopped = true;
    sse->has_data = false;
    buf_clear(&sse->name);
    buf_clear(&sse->data);
}

static void take_data(struct sse *sse, struct view value)
{
    if (sse->has_data)
        buf_append(&sse->data, "\n", 1);
    buf_add(&sse->data, value);
    sse->has_data = true;
}

static void set_name(struct sse *sse, struct view name)
{
    buf_clear(&sse->name);
    buf_add(&sse->name, view_head(name, SSE_MAX_NAME));
}

/* An event of its own, without a blank line before it or behind it. */
static void take_error(struct sse *sse, struct view value)
{
    dispatch(sse);
    if (sse->stopped)
        return;
    set_name(sse, VIEW("error"));
    take_data(sse, value);
    dispatch(sse);
}

static void take_field(struct sse *sse, struct view name, struct view value)
{
    if (view_is(name, "data"))
        take_data(sse, value);
    else if (view_is(name, "event"))
        set_name(sse, value);
    else if (sse->errors && view_is(name, "error"))
        take_error(sse, value);
}

static struct view sse_rest(struct view view, size_t from)
{
    return (struct view){ view.data + from, view.len - from };
}

static void sse_take_line(struct sse *sse, struct view line)
{
    const char *colon;
    struct view name = line, value = { "", 0 };

    if (line.len == 0) {
        dispatch(sse);
        return;
    }
    colon = memchr(line.data, ':', line.len);
    if (colon) {
        name.len = (size_t)(colon - line.data);
        value = sse_rest(line, name.len + 1);
        if (view_starts(value, " "))
            value = sse_rest(value, 1);
    }
    take_field(sse, name, value); /* a comment is a field without a name */
}

/* A line ends in this piece. Its beginning may have come in pieces before. */
static void end_line(struct sse *sse, struct view part)
{
    if (sse->line.len == 0) {
        sse_take_line(sse, part);
    } else if (buf_add(&sse->line, part)) {
        sse_take_line(sse, buf_view(&sse->line));
        buf_clear(&sse->line);
    }
    if (sse_overflow(sse))
        sse->stopped = true;
}

/* The position of the first CR or LF; bytes.len when there is none. */
static size_t find_end(struct view bytes)
{
    const char *lf = memchr(bytes.data, '\n', bytes.len);
    size_t len = lf ? (size_t)(lf - bytes.data) : bytes.len;
    const char *cr = memchr(bytes.data, '\r', len);

    return cr ? (size_t)(cr - bytes.data) : len;
}

bool sse_feed(struct sse *sse, struct view bytes)
{
    while (bytes.len > 0 && !sse->stopped) {
        size_t end;

        if (sse->after_cr && *bytes.data == '\n')
            bytes = sse_rest(bytes, 1);
        sse->after_cr = false;
        if (bytes.len == 0)
            break;
        end = find_end(bytes);
        if (end == bytes.len) {
            sse->stopped = !buf_add(&sse->line, bytes);
            break;
        }
        sse->after_cr = bytes.data[end] == '\r';
        end_line(sse, (struct view){ bytes.data, end });
        bytes = sse_rest(bytes, end + 1);
    }
    return !sse->stopped;
}

bool sse_end(struct sse *sse)
{
    if (!sse->stopped && sse->line.len > 0)
        end_line(sse, (struct view){ "", 0 });
    if (!sse->stopped)
        dispatch(sse);
    return !sse->stopped;
}
