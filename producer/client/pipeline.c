/* pipeline.c - many calls, each sent before the one before it is answered. */
#include <string.h>

#include "producer/client/handle.h"

enum { WINDOW = 256 }; /* things without an answer; a last call may go beyond */

/* The calls that are on their way, oldest first. */
struct call_window {
    struct sent_call {
        size_t index;
        size_t count; /* of things */
        struct conn *conn;
        unsigned int partition;
    } sent[WINDOW];
    size_t first, count;
    size_t things;          /* in them */
    size_t next;            /* thing to be sent */
    struct written_server { /* servers; each by a partition that it has */
        struct conn *conn;
        unsigned int partition;
    } written[NAMES_MAX_PARTITIONS];
    size_t written_count;
};

/* None of it will be answered. */
static void pipeline_drop(struct call_window *flight)
{
    for (; flight->count > 0; flight->count--) {
        conn_close(flight->sent[flight->first].conn);
        flight->first = (flight->first + 1) % WINDOW;
    }
}

static void note_written(struct call_window *flight, struct conn *conn,
                         unsigned int partition)
{
    for (size_t i = 0; i < flight->written_count; i++)
        if (flight->written[i].conn == conn)
            return;
    flight->written[flight->written_count++] =
        (struct written_server){ conn, partition };
}

static bool send_one(struct quern *quern, const struct command *command,
                     struct call_window *flight, struct sent_call *sent,
                     struct err *err)
{
    sent->conn = handle_writer(quern, sent->partition, err);
    if (!sent->conn)
        return false;
    note_written(flight, sent->conn, sent->partition);
    return conn_send(sent->conn, command, quern->timeout_ms, err);
}

static bool send_more(struct quern *quern, const struct pipeline *pipeline,
                      struct call_window *flight, struct err *err)
{
    while (flight->things < WINDOW && flight->next < pipeline->count) {
        struct sent_call *sent =
            &flight->sent[(flight->first + flight->count) % WINDOW];
        struct command command;
        bool asks, gone;

        sent->index = flight->next;
        asks = pipeline->ask(pipeline->owner, sent->index, &command,
                             &sent->partition, &sent->count);
        flight->next += sent->count;
        if (!asks)
            continue;
        gone = send_one(quern, &command, flight, sent, err);
        command_finish(&command);
        if (!gone)
            return false;
        flight->count++;
        flight->things += sent->count;
    }
    return true;
}

/* Nothing is owed any more: what was sent is sent again, in another form where
 * the library is an older one. */
static bool cure_library(struct quern *quern, const struct sent_call *sent,
                         struct err *err)
{
    conn_close(sent->conn);
    return (handle_doubt_many(quern, sent->partition) ||
            handle_load_library(sent->conn, quern->timeout_ms, err)) &&
           err_set(err, ERR_RETRY, "redis_unavailable",
                   "the function library was not there");
}

/* The oldest one's. After what no caller should see, all that is on its way is
 * sent again. */
static bool pipeline_take_answer(struct quern *quern,
                                 const struct pipeline *pipeline,
                                 struct call_window *flight, size_t *done,
                                 struct err *err)
{
    const struct sent_call *sent = &flight->sent[flight->first];
    CLEANUP(cleanup_reply)
    redisReply *reply = conn_receive(sent->conn, quern->timeout_ms, err);
    struct err said = { 0 };

    if (!reply)
        return false;
    if (reply_cure(reply) == CURE_LOAD)
        return cure_library(quern, sent, err);
    if (!reply_ok(reply, &said) && handle_may_pass(&said)) {
        *err = said;
        return false;
    }
    pipeline->answer(pipeline->owner, sent->index, sent->count, reply);
    *done = sent->index + sent->count;
    flight->things -= sent->count;
    flight->first = (flight->first + 1) % WINDOW;
    flight->count--;
    return true;
}

/* Half of the window is taken before it is filled again: Redis always has work,
 * and much of it arrives in one read. */
static bool run(struct quern *quern, const struct pipeline *pipeline,
                struct call_window *flight, size_t *done, struct err *err)
{
    do {
        size_t enough = WINDOW / 2;

        if (!send_more(quern, pipeline, flight, err))
            return false;
        if (flight->next == pipeline->count)
            enough = 0;
        while (flight->things > enough)
            if (!pipeline_take_answer(quern, pipeline, flight, done, err))
                return false;
    } while (flight->next < pipeline->count);
    for (size_t i = 0; i < flight->written_count; i++)
        if (!handle_secure(quern, flight->written[i].partition, err))
            return false;
    *done = pipeline->count;
    return true;
}

bool handle_pipeline(struct quern *quern, const struct pipeline *pipeline,
                     size_t *done, struct err *err)
{
    uint64_t end = clock_after(quern->timeout_ms);
    uint64_t backoff = FIRST_BACKOFF_MS;

    *done = 0;
    for (;;) {
        struct call_window flight = { .next = *done };
        struct err fault = { 0 };
        size_t before = *done;

        if (run(quern, pipeline, &flight, done, &fault))
            return true;
        pipeline_drop(&flight);
        /* What was answered may have been lost with that server. */
        if (quern->fleet->durability.kind != DURABLE_ASYNC)
            *done = before;
        if (!quern->fleet->met) {
            *err = fault;
            return false;
        }
        if (*done > before) { /* it has been back meanwhile */
            end = clock_after(quern->timeout_ms);
            backoff = FIRST_BACKOFF_MS;
        }
        if (!handle_may_pass(&fault) || clock_ms() + backoff >= end) {
            *err = fault;
            return false;
        }
        sleep_ms(backoff);
        if (backoff < LAST_BACKOFF_MS)
            backoff *= 2;
    }
}
