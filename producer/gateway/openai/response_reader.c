/* response_reader.c - a client that waits for a response, or has it streamed.
 */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/followers.h"
#include "producer/gateway/http/event_stream.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/response_stream.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/transition.h"
#include "schemas/service/log.h"

enum { ENOUGH_BYTES = 16 << 10 }; /* that wait for one who is behind */

/* The client has gone, and nobody else can read the response. */
static void cancel_job(const struct kept_response *kept)
{
    struct command command;
    struct err err;

    transition_cancel(&command, &kept->gateway->names, view_of(kept->job),
                      VIEW("its client went away"));
    if (!fleet_links_call(kept->gateway->links, kept_response_partition(kept),
                          &command, NULL, NULL, &err))
        log_line("response.not_cancelled", "{s:s, s:s}", "job", kept->job,
                 "why", err.text);
    command_finish(&command);
}

/* -------------------------------------------------------------- streaming */

struct response_reader {
    struct kept_response *kept;
    struct response_stream *fold;
    struct http_stream *stream; /* NULL: the client has gone */
    struct job_follower *follower;
    int64_t after;
    bool foreground;
    uint64_t last; /* seq of the job's last event; 0: it has not ended */
};

static void reader_free(struct response_reader *reader)
{
    job_follower_free(reader->follower);
    response_stream_free(reader->fold);
    kept_response_finish(reader->kept);
    free(reader->kept);
    free(reader);
}

static void reader_send(struct response_reader *reader,
                        struct http_bytes *bytes)
{
    if (bytes && reader->stream)
        http_stream_send(reader->stream, bytes);
    http_bytes_free(bytes);
}

static void on_wire(void *owner, uint64_t sequence, const char *type,
                    const json_t *json)
{
    struct response_reader *reader = owner;

    if ((int64_t)sequence <= reader->after)
        return;
    CLEANUP(cleanup_free) char *text = json_dumps(json, JSON_COMPACT);
    reader_send(reader, event_stream_event(view_of(type), view_of(text), NULL));
}

static void reader_end(struct response_reader *reader)
{
    reader_send(reader, event_stream_done());
    if (reader->stream)
        http_stream_end(reader->stream);
    reader_free(reader);
}

static void on_result(void *owner, const redisReply *reply,
                      const struct err *why)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct response_reader *reader = owner;
    const struct kept_response *kept = reader->kept;
    struct view bytes = { "", 0 };
    struct result result;
    bool known;

    (void)why;
    if (reply && reply->type == REDIS_REPLY_STRING)
        bytes = reply_view(reply);
    known = bytes.len > 0 &&
            message_decode(&schema_result, bytes, &result, &arena, NULL);
    response_stream_end(reader->fold, reader->last, kept->state,
                        known ? &result : NULL, kept->finished_at);
    reader_end(reader);
}

/* False: Redis is away, and the stream breaks off. */
static bool reader_call(struct response_reader *reader, struct command *command,
                        link_done *done)
{
    const struct kept_response *kept = reader->kept;
    struct err err;
    bool sent =
        fleet_links_call(kept->gateway->links, kept_response_partition(kept),
                         command, done, reader, &err);

    command_finish(command);
    if (sent)
        return true;
    if (reader->stream)
        http_stream_end(reader->stream);
    reader_free(reader);
    return false;
}

static void on_facts(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct response_reader *reader = owner;
    struct command command;

    (void)why;
    if (reply)
        kept_response_take(reader->kept, reply);
    kept_response_ask_result(reader->kept, &command);
    reader_call(reader, &command, on_result);
}

/* The job has ended: what it used, and how, is in its facts and result. */
static void reader_finish(struct response_reader *reader)
{
    struct command command;

    reader->follower = NULL;
    kept_response_ask(reader->kept, &command);
    reader_call(reader, &command, on_facts);
}

static void on_bytes(void *owner, struct view bytes, bool is_last)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct response_reader *reader = owner;
    struct event event;

    if (bytes.len > 0 && event_decode(&event, bytes, &arena, NULL)) {
        reader->last = event.seq;
        response_stream_event(reader->fold, &event);
    }
    if (is_last)
        reader_finish(reader);
}

static void on_failed(void *owner, const struct err *why)
{
    struct response_reader *reader = owner;

    log_line("response.failed", "{s:s, s:s}", "job", reader->kept->job, "why",
             why->text);
    if (reader->stream)
        http_stream_end(reader->stream);
    reader->follower = NULL;
    reader_free(reader);
}

static bool reader_may_send(void *owner)
{
    const struct response_reader *reader = owner;

    return !reader->stream ||
           http_stream_waiting(reader->stream) < ENOUGH_BYTES;
}

static void on_beat(void *owner, struct http_bytes *comment)
{
    const struct response_reader *reader = owner;

    if (reader->stream)
        http_stream_send(reader->stream, comment);
}

static const struct job_follower_events followed = {
    .on_bytes = on_bytes,
    .on_failed = on_failed,
    .may_send = reader_may_send,
    .on_beat = on_beat,
};

static void on_stream_gone(void *owner, enum http_gone why)
{
    struct response_reader *reader = owner;

    reader->stream = NULL;
    if (!reader->follower)
        return; /* the job has ended; its result is on its way */
    if (reader->foreground && why != HTTP_GONE_SERVER)
        cancel_job(reader->kept);
    reader_free(reader);
}

static void on_stream_drained(void *owner)
{
    const struct response_reader *reader = owner;

    if (reader->follower)
        job_follower_go_on(reader->follower);
}

static const struct http_stream_events streamed = { on_stream_gone,
                                                    on_stream_drained };

void response_reader_stream(struct api_request *request,
                            struct kept_response *kept, int64_t after,
                            bool obfuscate, bool foreground)
{
    const struct http_pair headers[] = {
        { VIEW("Content-Type"), VIEW("text/event-stream") },
        { VIEW("Cache-Control"), VIEW("no-cache, no-transform") },
        { VIEW("X-Accel-Buffering"), VIEW("no") },
    };
    struct response_stream_options options = {
        .whole_turns = kept->gateway->settings.whole_turns,
        .obfuscate = obfuscate,
    };
    struct response_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        abort();
    *reader = (struct response_reader){ .kept = kept,
                                        .after = after,
                                        .foreground = foreground };
    reader->fold = response_stream_new(&kept->wire, &options, on_wire, reader);
    reader->follower = job_follower_new(
        kept->gateway->followers, view_of(kept->job), 0, &followed, reader);
    reader->stream = api_request_stream(request, 200, headers,
                                        sizeof(headers) / sizeof(headers[0]),
                                        HTTP_CHUNKED, &streamed, reader);
}

/* ---------------------------------------------------------------- waiting */

/* The state of a request that waits: in the place of its kept_response. */
struct response_wait {
    struct kept_response kept; /* first */
    struct api_request *request;
    struct job_follower *follower; /* NULL: the job has ended */
};

/* Comes with the answer, or when the client has gone before. */
static void wait_free(void *state)
{
    struct response_wait *wait = state;

    if (wait->follower)
        cancel_job(&wait->kept);
    job_follower_free(wait->follower);
    kept_response_finish(&wait->kept);
    free(wait);
}

static void on_wait_bytes(void *owner, struct view bytes, bool is_last)
{
    struct response_wait *wait = owner;

    (void)bytes;
    if (!is_last)
        return;
    wait->follower = NULL;
    openai_show(wait->request);
}

static void on_wait_failed(void *owner, const struct err *why)
{
    struct response_wait *wait = owner;

    (void)why; /* what is read next says it, too */
    wait->follower = NULL;
    openai_show(wait->request);
}

static const struct job_follower_events waited = {
    .on_bytes = on_wait_bytes,
    .on_failed = on_wait_failed,
};

void response_reader_wait(struct api_request *request)
{
    struct kept_response *kept = request->state;
    struct response_wait *wait = calloc(1, sizeof(*wait));

    if (!wait)
        abort();
    kept_response_init(&wait->kept, kept->gateway, view_of(kept->job),
                       json_incref(kept->asked));
    request->state_free(request->state);
    wait->request = request;
    request->state = wait;
    request->state_free = wait_free;
    wait->follower = job_follower_new(
        request->gateway->followers, view_of(wait->kept.job), 0, &waited, wait);
}
