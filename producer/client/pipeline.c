/* pipeline.c - many calls, each sent before the one before it is answered. */
#include <string.h>

#include "producer/client/handle.h"

enum { WINDOW = 256 }; /* calls without an answer */

/* What is on its way, oldest first, of calls that have a command. */
struct flight {
    size_t indexes[WINDOW];
    size_t first, count;
    size_t next; /* call to be sent */
};

static bool send_more(struct quern *quern, const struct pipeline *pipeline,
                      struct flight *flight, struct err *err)
{
    while (flight->count < WINDOW && flight->next < pipeline->count) {
        struct command command;
        size_t index = flight->next++;
        bool sent;

        if (!pipeline->ask(pipeline->owner, index, &command))
            continue;
        sent = conn_send(quern->conn, &command, quern->timeout_ms, err);
        command_finish(&command);
        if (!sent)
            return false;
        flight->indexes[(flight->first + flight->count++) % WINDOW] = index;
    }
    return true;
}

/* The oldest one's. What no caller should see breaks the connection: all that
 * is on its way is then sent again. */
static bool take_answer(struct quern *quern, const struct pipeline *pipeline,
                        struct flight *flight, size_t *done, struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *reply = conn_receive(quern->conn, quern->timeout_ms, err);
    size_t index = flight->indexes[flight->first];
    struct err said = { 0 };

    if (!reply)
        return false;
    if (handle_lacks_library(reply)) {
        conn_close(quern->conn);
        return handle_load_library(quern, quern->timeout_ms, err) &&
               err_set(err, ERR_RETRY, "redis_unavailable",
                       "the function library was not there");
    }
    if (!reply_ok(reply, &said) && handle_may_pass(&said)) {
        conn_close(quern->conn);
        *err = said;
        return false;
    }
    pipeline->answer(pipeline->owner, index, reply);
    flight->first = (flight->first + 1) % WINDOW;
    flight->count--;
    *done = index + 1;
    return true;
}

/* Half of the window is taken before it is filled again: Redis always has work,
 * and much of it arrives in one read. */
static bool run(struct quern *quern, const struct pipeline *pipeline,
                size_t *done, struct err *err)
{
    struct flight flight = { .next = *done };

    do {
        size_t enough = WINDOW / 2;

        if (!send_more(quern, pipeline, &flight, err))
            return false;
        if (flight.next == pipeline->count)
            enough = 0;
        while (flight.count > enough)
            if (!take_answer(quern, pipeline, &flight, done, err))
                return false;
    } while (flight.next < pipeline->count);
    *done = pipeline->count;
    return true;
}

bool handle_pipeline(struct quern *quern, const struct pipeline *pipeline,
                     size_t *done, struct err *err)
{
    uint64_t end = clock_after(quern->timeout_ms);
    uint64_t backoff = FIRST_BACKOFF_MS;

    *done = 0;
    if (!handle_meet(quern, err))
        return false;
    for (;;) {
        struct err fault = { 0 };
        size_t before = *done;

        if (run(quern, pipeline, done, &fault))
            return true;
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
