/* event_stream.c - writes server-sent events. */
#include "producer/gateway/http/event_stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "schemas/message/buf.h"

enum { MAX_EVENT = 64 << 20 };

static bool is_one_line(struct view text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\r' || text.data[i] == '\n' || !text.data[i])
            return false;
    return true;
}

/* id: a whole line, or "". */
static struct http_bytes *event_of(const char *id, struct view type,
                                   struct view data, struct err *err)
{
    CLEANUP(buf_finish) struct buf out = { .max = MAX_EVENT };

    if (!is_one_line(type) || !is_one_line(data)) {
        err_set(err, ERR_REJECT, "bad_event",
                "the %s of an event has a CR, LF or NUL",
                is_one_line(type) ? "data" : "type");
        return NULL;
    }
    buf_add(&out, view_of(id));
    if (type.len > 0) {
        buf_add(&out, VIEW("event: "));
        buf_add(&out, type);
        buf_add(&out, VIEW("\n"));
    }
    buf_add(&out, VIEW("data: "));
    buf_add(&out, data);
    buf_add(&out, VIEW("\n\n"));
    if (!buf_ok(&out)) {
        err_set(err, ERR_REJECT, "too_large",
                "an event of %zu bytes; at most %d are allowed", data.len,
                MAX_EVENT);
        return NULL;
    }
    return http_bytes_new(buf_view(&out));
}

struct http_bytes *event_stream_event(struct view type, struct view data,
                                      struct err *err)
{
    return event_of("", type, data, err);
}

struct http_bytes *event_stream_numbered(uint64_t id, struct view type,
                                         struct view data, struct err *err)
{
    char line[40];

    snprintf(line, sizeof(line), "id: %" PRIu64 "\n", id);
    return event_of(line, type, data, err);
}

struct http_bytes *event_stream_comment(void)
{
    return http_bytes_new(VIEW(": k\n\n"));
}

struct http_bytes *event_stream_done(void)
{
    return http_bytes_new(VIEW("data: [DONE]\n\n"));
}
