/* events.c - GET /v1/jobs/{id}/events: a job's events as server-sent events.
 *
 *   id: 7
 *   event: message.delta
 *   data: {"v": 1, "seq": 7, "at": ..., "type": "message.delta", "data": {...}}
 *
 * id is the number behind which to go on: a browser sends it back as
 * Last-Event-ID, others as ?after=. The stream ends behind the job's last
 * event. To who has that already the answer is 204, which tells a browser not
 * to connect again. It also ends, within some 15 s, when its key does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/access.h"
#include "producer/gateway/followers.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/native.h"
#include "schemas/message/result.h"
#include "schemas/service/log.h"

enum { ENOUGH_BYTES = 16 << 10 }; /* that wait for one who is behind */

/* One who follows over HTTP. */
struct event_reader {
    struct access *access;
    struct sha256 key; /* that it came with */
    struct http_stream *stream;
    struct job_follower *follower; /* NULL: the stream has ended */
    unsigned int holds; /* by the stream, and by a check of the key */
};

static void reader_drop(struct event_reader *reader)
{
    if (--reader->holds == 0)
        free(reader);
}

/* The follower is freed, or frees itself. */
static void reader_end(struct event_reader *reader)
{
    reader->follower = NULL;
    http_stream_end(reader->stream);
    reader_drop(reader);
}

static void on_event(void *owner, struct http_bytes *event, bool is_last)
{
    struct event_reader *reader = owner;

    if (event)
        http_stream_send(reader->stream, event);
    if (is_last)
        reader_end(reader);
}

/* The stream breaks off, and the client comes back and is told why. */
static void on_failed(void *owner, const struct err *why)
{
    struct event_reader *reader = owner;

    log_line("events.failed", "{s:s}", "why", why->text);
    reader_end(reader);
}

static bool may_send(void *owner)
{
    const struct event_reader *reader = owner;

    return http_stream_waiting(reader->stream) < ENOUGH_BYTES;
}

/* A key that was removed, or has expired, reads no further: whoever comes back
 * with it is refused. */
static void on_checked(void *owner, const struct access_outcome *outcome)
{
    struct event_reader *reader = owner;

    if (reader->follower && !outcome->caller && outcome->status == 401) {
        job_follower_free(reader->follower);
        reader->follower = NULL;
        http_stream_end(reader->stream);
        reader->holds--; /* the stream's */
    }
    reader_drop(reader);
}

static void on_beat(void *owner, struct http_bytes *comment)
{
    struct event_reader *reader = owner;

    http_stream_send(reader->stream, comment);
    reader->holds++;
    access_check_again(reader->access, &reader->key, on_checked, reader);
}

static const struct job_follower_events followed = { .on_event = on_event,
                                                     .on_failed = on_failed,
                                                     .may_send = may_send,
                                                     .on_beat = on_beat };

static void on_stream_gone(void *owner, enum http_gone why)
{
    struct event_reader *reader = owner;

    (void)why;
    job_follower_free(reader->follower);
    reader->follower = NULL;
    reader_drop(reader);
}

static void on_stream_drained(void *owner)
{
    const struct event_reader *reader = owner;

    job_follower_go_on(reader->follower);
}

static const struct http_stream_events streamed = { on_stream_gone,
                                                    on_stream_drained };

static void events_begin(struct api_request *request, uint64_t after)
{
    const struct http_pair headers[] = {
        { VIEW("Content-Type"), VIEW("text/event-stream") },
        { VIEW("Cache-Control"), VIEW("no-store") },
        { VIEW("X-Accel-Buffering"), VIEW("no") },
    };
    struct followers *followers = request->gateway->followers;
    struct event_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        abort();
    reader->access = request->gateway->access;
    reader->key = request->caller.key;
    reader->holds = 1;
    /* First the follower: the id of the path goes with the request. */
    reader->follower = job_follower_new(followers, request->params[0], after,
                                        &followed, reader);
    reader->stream = api_request_stream(request, 200, headers,
                                        sizeof(headers) / sizeof(headers[0]),
                                        HTTP_CHUNKED, &streamed, reader);
}

/* Last-Event-ID wins over ?after=: a browser that comes back sends both. False:
 * answered. */
static bool read_after(struct api_request *request, uint64_t *after)
{
    struct view last;
    char copy[24], *end;
    struct err err;

    if (!api_request_number(request, "after", 0, UINT64_C(1) << 53, after))
        return false;
    if (!http_request_value(request->exchange, "Last-Event-ID", &last, &err)) {
        api_request_refuse(request, &err);
        return false;
    }
    if (last.len == 0)
        return true;
    if (last.len < sizeof(copy)) {
        memcpy(copy, last.data, last.len);
        copy[last.len] = '\0';
        *after = strtoull(copy, &end, 10);
        if (*copy >= '0' && *copy <= '9' && *end == '\0' &&
            *after <= UINT64_C(1) << 53)
            return true;
    }
    api_request_wrong(request, "Last-Event-ID",
                      "Last-Event-ID is \"%.*s\", should be the number of an "
                      "event",
                      VIEW_ARG(view_head(last, 40)));
    return false;
}

static void events_found(struct api_request *request, const redisReply *facts)
{
    int state = api_job_state(facts);
    uint64_t after;

    if (!read_after(request, &after))
        return;
    if (job_state_is_terminal(state) &&
        after == api_job_number(facts, FACT_SEQ) && after > 0)
        api_request_answer(request, 204, NULL, 0, (struct view){ 0 });
    else
        events_begin(request, after);
}

void events_follow(struct api_request *request)
{
    api_job_load(request, events_found);
}
