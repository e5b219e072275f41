/* pipeline.c - many calls, each sent before the one before it is answered.
 *
 * Redis answers the calls of a connection in order, so the oldest call of the
 * window is always the one whose answer comes next on its connection. When an
 * answer is lost, all connections with outstanding answers are closed (a late
 * answer must not be taken for another call's) and everything from the first
 * thing without an answer is sent again. */
#include <string.h>

#include "producer/client/handle.h"

enum { WINDOW = 256 }; /* things without an answer; a last call may go beyond */

/* The calls that are on their way, oldest first: a ring. Lives for one run,
 * from the first send to the first failure. */
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
    struct written_server { /* to be asked for durability at the end; each by a
                               partition that it has */
        struct conn *conn;
        unsigned int partition;
    } written[NAMES_MAX_PARTITIONS];
    size_t written_count;
};

/* Closes the connections that owe an answer: nobody will take it. */
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

/* Fills the window. The slot of the ring is counted as in flight only when its
 * command was sent: a failure leaves it unused. */
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

/* The server lacks the library, or the function for many jobs (a failover to a
 * server with an older one). Closing the connection drops all outstanding
 * answers, which handle_takes_many() and the loading of the library need.
 * Always false, as if Redis had been away: what was sent is sent again, one job
 * in a call where the server takes no more. */
static bool cure_library(struct quern *quern, const struct sent_call *sent,
                         struct err *err)
{
    conn_close(sent->conn);
    return (handle_doubt_many(quern, sent->partition) ||
            handle_load_library(sent->conn, quern->timeout_ms, err)) &&
           err_set(err, ERR_RETRY, "redis_unavailable",
                   "the function library was not there");
}

/* Takes the answer to the oldest call and hands it to the owner. False: the
 * connection is lost, or the answer is one that no owner should see (the
 * library is missing, the server is not ready): all that is on its way is sent
 * again. */
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

/* Half of the window is answered before it is filled again: so Redis always has
 * work, and many commands and answers share one write and one read. Durability
 * is asked for once for each server, when all is written. */
static bool pipeline_run(struct quern *quern, const struct pipeline *pipeline,
                         struct call_window *flight, size_t *done,
                         struct err *err)
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

        if (pipeline_run(quern, pipeline, &flight, done, &fault))
            return true;
        pipeline_drop(&flight);
        /* An answer is final only once the server has been asked for
         * durability, at the end: what it has answered in this run may be lost
         * with it, and is sent again. */
        if (quern->fleet->durability.kind != DURABLE_ASYNC)
            *done = before;
        if (!quern->fleet->met) {
            *err = fault;
            return false;
        }
        if (*done > before) { /* Redis was there meanwhile: the time begins
                                 anew */
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
