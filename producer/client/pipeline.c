/* pipeline.c - many calls, each sent before the one before it is answered. */
#include <string.h>

#include "producer/client/handle.h"

enum {
    WINDOW = 256,      /* calls without an answer */
    RING = 2 * WINDOW, /* and questions: no more than there are calls */
};

/* What is on its way, oldest first: of calls that have a command, and behind
 * each filling of the window, of every server that has got some of it, the
 * question whether all of that is durable. */
struct flight {
    struct sent {
        size_t index; /* of a question: calls before are durable by then */
        struct conn *conn;
        bool asks;
    } sent[RING];
    size_t first, count;
    size_t next; /* call to be sent */
};

/* None of it will be answered. */
static void drop(struct flight *flight)
{
    for (; flight->count > 0; flight->count--) {
        conn_close(flight->sent[flight->first].conn);
        flight->first = (flight->first + 1) % RING;
    }
}

static bool send_one(struct quern *quern, const struct command *command,
                     unsigned int partition, struct sent *sent, struct err *err)
{
    sent->conn = handle_conn(quern, partition, err);
    sent->asks = false;
    return sent->conn && handle_meet(quern, sent->conn, err) &&
           handle_prove(quern, partition, err) &&
           conn_send(sent->conn, command, quern->timeout_ms, err);
}

static struct sent *sent_at(struct flight *flight, size_t index)
{
    return &flight->sent[(flight->first + index) % RING];
}

static bool send_question(struct quern *quern, struct conn *conn,
                          struct err *err)
{
    struct command question;
    bool gone;

    durability_ask(&question, &quern->fleet->durability,
                   handle_patience_ms(quern->timeout_ms));
    gone = conn_send(conn, &question, quern->timeout_ms, err);
    command_finish(&question);
    return gone;
}

/* To each server once, of the calls from there on. All of them are durable when
 * the last one has said so. */
static bool send_questions(struct quern *quern, struct flight *flight,
                           size_t from, struct err *err)
{
    size_t calls = flight->count;

    if (quern->fleet->durability.kind == DURABLE_ASYNC)
        return true;
    for (size_t i = from; i < calls; i++) {
        struct sent *sent = sent_at(flight, flight->count);
        size_t at = calls;

        *sent = (struct sent){ 0, sent_at(flight, i)->conn, true };
        while (at < flight->count && sent_at(flight, at)->conn != sent->conn)
            at++;
        if (at < flight->count)
            continue;
        if (!send_question(quern, sent->conn, err))
            return false;
        flight->count++;
    }
    if (flight->count > calls)
        sent_at(flight, flight->count - 1)->index = flight->next;
    return true;
}

static bool send_more(struct quern *quern, const struct pipeline *pipeline,
                      struct flight *flight, struct err *err)
{
    size_t before = flight->count;

    while (flight->count < WINDOW && flight->next < pipeline->count) {
        struct sent *sent =
            &flight->sent[(flight->first + flight->count) % RING];
        struct command command;
        unsigned int partition;
        bool gone;

        sent->index = flight->next++;
        if (!pipeline->ask(pipeline->owner, sent->index, &command, &partition))
            continue;
        gone = send_one(quern, &command, partition, sent, err);
        command_finish(&command);
        if (!gone)
            return false;
        flight->count++;
    }
    return send_questions(quern, flight, before, err);
}

static bool hear_question(struct quern *quern, const struct sent *sent,
                          const redisReply *told, size_t *done, struct err *err)
{
    if (!durability_told(&quern->fleet->durability, told, err))
        return false;
    if (sent->index > *done)
        *done = sent->index;
    return true;
}

static bool hear_call(struct quern *quern, const struct pipeline *pipeline,
                      const struct sent *sent, const redisReply *reply,
                      size_t *done, struct err *err)
{
    struct err said = { 0 };

    if (reply_cure(reply) == CURE_LOAD) {
        conn_close(sent->conn);
        return handle_load_library(sent->conn, quern->timeout_ms, err) &&
               err_set(err, ERR_RETRY, "redis_unavailable",
                       "the function library was not there");
    }
    if (!reply_ok(reply, &said) && handle_may_pass(&said)) {
        *err = said;
        return false;
    }
    pipeline->answer(pipeline->owner, sent->index, reply);
    if (quern->fleet->durability.kind == DURABLE_ASYNC)
        *done = sent->index + 1;
    return true;
}

/* The oldest one's. After what no caller should see, all that is on its way is
 * sent again. */
static bool take_answer(struct quern *quern, const struct pipeline *pipeline,
                        struct flight *flight, size_t *done, struct err *err)
{
    const struct sent *sent = &flight->sent[flight->first];
    CLEANUP(cleanup_reply)
    redisReply *reply = conn_receive(sent->conn, quern->timeout_ms, err);

    if (!reply ||
        !(sent->asks ? hear_question(quern, sent, reply, done, err)
                     : hear_call(quern, pipeline, sent, reply, done, err)))
        return false;
    flight->first = (flight->first + 1) % RING;
    flight->count--;
    return true;
}

/* Half of the window is taken before it is filled again: Redis always has work,
 * and much of it arrives in one read. */
static bool run(struct quern *quern, const struct pipeline *pipeline,
                struct flight *flight, size_t *done, struct err *err)
{
    do {
        size_t enough = WINDOW / 2;

        if (!send_more(quern, pipeline, flight, err))
            return false;
        if (flight->next == pipeline->count)
            enough = 0;
        while (flight->count > enough)
            if (!take_answer(quern, pipeline, flight, done, err))
                return false;
    } while (flight->next < pipeline->count);
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
        struct flight flight = { .next = *done };
        struct err fault = { 0 };
        size_t before = *done;

        if (run(quern, pipeline, &flight, done, &fault))
            return true;
        drop(&flight);
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
