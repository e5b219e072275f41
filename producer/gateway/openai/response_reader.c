/* response_reader.c - a client that waits for a response, or has it streamed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/chat/chat_stream.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/followers.h"
#include "producer/gateway/http/event_stream.h"
#include "producer/gateway/openai/left_jobs.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/response_stream.h"
#include "schemas/json/convert.h"
#include "schemas/redis/reply.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    ENOUGH_BYTES = 16 << 10, /* that wait for one who is behind */
    AGAIN_MS = 250,
    MOST_TRIES = 240, /* a minute */
};

/* -------------------------------------------------------------- streaming */

struct response_reader {
    struct kept_response *kept;
    struct response_stream *fold;
    struct chat_stream chat;    /* behind it, when it is a chat */
    struct http_stream *stream; /* NULL: the client has gone */
    struct job_follower *follower;
    int64_t after;
    uint64_t sequence; /* of the last wire event */
    bool foreground;
    bool has_events;     /* something of the job's events was there */
    uint64_t last;       /* seq of the job's last event; 0: it has not ended */
    struct alarm *again; /* asks again for how the job has ended */
    unsigned int tries;  /* of these */
};

static void reader_free(struct response_reader *reader)
{
    job_follower_free(reader->follower);
    alarm_free(reader->again);
    response_stream_free(reader->fold);
    chat_stream_finish(&reader->chat);
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

/* What is not UTF-8 was mended when it was read from Redis. */
static void send_json(struct response_reader *reader, struct view type,
                      const json_t *json)
{
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };

    json_add_text(&text, json);
    reader_send(reader, event_stream_event(type, buf_view(&text), NULL));
}

static void on_chunk(void *owner, const json_t *json)
{
    send_json(owner, VIEW(""), json);
}

static void on_wire(void *owner, uint64_t sequence, const char *type,
                    const json_t *json)
{
    struct response_reader *reader = owner;

    reader->sequence = sequence;
    if ((int64_t)sequence <= reader->after)
        return;
    if (reader->kept->is_chat) {
        chat_stream_event(&reader->chat, type, json);
        return;
    }
    send_json(reader, view_of(type), json);
}

static void reader_end(struct response_reader *reader)
{
    reader_send(reader, event_stream_done());
    if (reader->stream)
        http_stream_end(reader->stream);
    reader_free(reader);
}

/* A stream that only ended would look like a whole one. */
static void send_error(struct response_reader *reader)
{
    static const char message[] = "the response is not to be had any more: "
                                  "Redis is away, or has lost its job";
    json_t *json =
        reader->kept->is_chat
            ? json_pack("{s:{s:s, s:s, s:n, s:s}}", "error", "message", message,
                        "type", "server_error", "param", "code", "job_lost")
            : json_pack("{s:s, s:s, s:s, s:n, s:I}", "type", "error", "code",
                        "job_lost", "message", message, "param",
                        "sequence_number", (json_int_t)reader->sequence + 1);

    send_json(reader, reader->kept->is_chat ? VIEW("") : VIEW("error"), json);
    json_decref(json);
}

static void reader_break_off(struct response_reader *reader,
                             const struct err *why)
{
    log_line("response.failed", "{s:s, s:s}", "job", reader->kept->job, "why",
             why->text);
    send_error(reader);
    if (reader->stream)
        http_stream_end(reader->stream);
    reader_free(reader);
}

/* Redis is away, or fails over, just as the job has ended: it is asked once
 * more, since what it would have said is the end of the stream. */
static void reader_ask_later(struct response_reader *reader,
                             const struct err *why)
{
    if (!reader->stream || ++reader->tries > MOST_TRIES)
        reader_break_off(reader, why);
    else
        alarm_set(reader->again, AGAIN_MS);
}

/* Whether there is an answer; false: it is asked for again. */
static bool reader_has(struct response_reader *reader, const redisReply *reply,
                       const struct err *why)
{
    struct err err = { 0 };

    if (!reply)
        err = *why;
    if (reply && reply_ok(reply, &err))
        return true;
    reader_ask_later(reader, &err);
    return false;
}

static void on_result(void *owner, const redisReply *reply,
                      const struct err *why)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct response_reader *reader = owner;
    const struct kept_response *kept = reader->kept;
    struct result result;
    bool known;

    if (!reader_has(reader, reply, why))
        return;
    known = reply->type == REDIS_REPLY_STRING &&
            message_decode(&schema_result, reply_view(reply), &result, &arena,
                           NULL);
    reader->chat.result = known ? &result : NULL;
    if (known && !reader->has_events)
        response_stream_replay(reader->fold, &result);
    response_stream_end(reader->fold, reader->last, kept->state,
                        known ? &result : NULL, kept->finished_at);
    reader_end(reader);
}

static void reader_call(struct response_reader *reader, struct command *command,
                        link_done *done)
{
    const struct kept_response *kept = reader->kept;
    struct err err;
    bool sent =
        fleet_links_call(kept->gateway->links, kept_response_partition(kept),
                         command, done, reader, &err);

    command_finish(command);
    if (!sent)
        reader_ask_later(reader, &err);
}

static void on_facts(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct response_reader *reader = owner;
    struct command command;

    if (!reader_has(reader, reply, why))
        return;
    kept_response_take(reader->kept, reply);
    kept_response_ask_result(reader->kept, &command);
    reader_call(reader, &command, on_result);
}

/* The job has ended: what it used, and how, is in its facts and result. */
static void reader_finish(void *owner)
{
    struct response_reader *reader = owner;
    struct command command;

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
        /* When nothing is left of them, the result stands for all events. */
        reader->has_events |= !is_last && !view_is(event.type, "gap");
        if (reader->has_events)
            response_stream_event(reader->fold, &event);
    }
    if (is_last) {
        reader->follower = NULL;
        reader_finish(reader);
    }
}

static void on_failed(void *owner, const struct err *why)
{
    struct response_reader *reader = owner;

    reader->follower = NULL;
    reader_break_off(reader, why);
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
    if (!reader->follower) { /* the job has ended; its result is on its way */
        if (alarm_is_set(reader->again))
            reader_free(reader);
        return;
    }
    if (reader->foreground && why != HTTP_GONE_SERVER)
        left_jobs_add(reader->kept->gateway->left_jobs,
                      view_of(reader->kept->job), &reader->kept->repeat);
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
    reader->chat = (struct chat_stream){ .with_usage = kept->chat_usage,
                                         .job = &kept->wire,
                                         .sink = on_chunk,
                                         .owner = reader };
    reader->again = alarm_new(kept->gateway->loop, reader_finish, reader);
    reader->fold = response_stream_new(&kept->wire, &options, on_wire, reader);
    reader->follower = job_follower_new(
        kept->gateway->followers, view_of(kept->job), 0, &followed, reader);
    reader->stream = api_request_stream(request, 200, headers,
                                        sizeof(headers) / sizeof(headers[0]),
                                        HTTP_CHUNKED, &streamed, reader);
    /* A client does not repeat a request whose answer has begun. */
    repeat_settle(&kept->repeat, kept->gateway, view_of(kept->job));
    kept->repeat = (struct repeat){ .has_key = kept->repeat.has_key };
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
        left_jobs_add(wait->kept.gateway->left_jobs, view_of(wait->kept.job),
                      &wait->kept.repeat);
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
    kept_response_init(&wait->kept, request, view_of(kept->job),
                       json_incref(kept->asked));
    wait->kept.repeat = kept->repeat;
    request->state_free(request->state);
    wait->request = request;
    request->state = wait;
    request->state_free = wait_free;
    wait->follower = job_follower_new(
        request->gateway->followers, view_of(wait->kept.job), 0, &waited, wait);
}
