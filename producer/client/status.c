/* status.c - what became of a job: asking once, and waiting for its end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/handle.h"
#include "schemas/message/result.h"
#include "schemas/redis/transition.h"

/* The fields of the job's hash that are asked for, and their places in the
 * reply. */
static const char *const asked[] = {
    "state",      "attempts",    "seq",        "submitted_at",
    "started_at", "finished_at", "error_code",
};
enum { STATE, ATTEMPTS, SEQ, SUBMITTED, STARTED, FINISHED, ERROR, ASKED };

const char *quern_state_name(enum quern_state state)
{
    return job_state_names[state];
}

bool quern_state_is_terminal(enum quern_state state)
{
    return job_state_is_terminal((int)state);
}

void quern_status_finish(struct quern_status *status)
{
    if (!status)
        return;
    free(status->result);
    *status = (struct quern_status){ 0 };
}

static redisReply *read_hash(struct quern *quern, struct view id,
                             struct err *err)
{
    struct key key = names_job(&quern->names, id);
    struct command command;
    redisReply *reply;

    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    for (size_t i = 0; i < ASKED; i++)
        command_add_text(&command, asked[i]);
    reply = handle_call(quern, &command, err);
    command_finish(&command);
    return reply;
}

static bool read_result(struct quern *quern, struct view id,
                        struct quern_status *status, struct err *err)
{
    struct key key = names_result(&quern->names, id);
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    reply = handle_call(quern, &command, err);
    command_finish(&command);
    if (!reply)
        return false;
    status->expired = reply->type != REDIS_REPLY_STRING;
    if (status->expired)
        return true;
    status->result = view_dup((struct view){ reply->str, reply->len });
    status->result_size = reply->len;
    return true;
}

static const char *text_at(const redisReply *reply, size_t i)
{
    const char *text = reply->element[i]->str;

    return text ? text : "";
}

static uint64_t number_at(const redisReply *reply, size_t i)
{
    return strtoull(text_at(reply, i), NULL, 10);
}

static bool state_of(const char *name, enum quern_state *state)
{
    for (int i = 0; job_state_names[i]; i++)
        if (strcmp(job_state_names[i], name) == 0) {
            *state = (enum quern_state)i;
            return true;
        }
    return false;
}

bool status_read(struct quern *quern, struct view id, bool with_result,
                 struct quern_status *status, struct err *err)
{
    CLEANUP(cleanup_reply) redisReply *reply = read_hash(quern, id, err);

    if (!reply)
        return false;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != ASKED ||
        reply->element[STATE]->type != REDIS_REPLY_STRING)
        return err_set(err, ERR_REJECT, "unknown_job",
                       "no job %.*s: never submitted here, or ended more than "
                       "a week ago",
                       VIEW_ARG(id));
    *status = (struct quern_status){
        .attempts = number_at(reply, ATTEMPTS),
        .seq = number_at(reply, SEQ),
        .submitted_at = number_at(reply, SUBMITTED),
        .started_at = number_at(reply, STARTED),
        .finished_at = number_at(reply, FINISHED),
    };
    strncpy(status->error_code, text_at(reply, ERROR),
            sizeof(status->error_code) - 1);
    if (!state_of(text_at(reply, STATE), &status->state))
        return err_set(err, ERR_REJECT, "bad_message",
                       "job %.*s: \"%s\" is not a state that this client knows",
                       VIEW_ARG(id), text_at(reply, STATE));
    return !with_result || !quern_state_is_terminal(status->state) ||
           read_result(quern, id, status, err);
}

bool quern_get(struct quern *quern, const char *id_text,
               struct quern_status *status, struct quern_error *error)
{
    struct err err = { 0 };
    struct view id;

    *status = (struct quern_status){ 0 };
    return (handle_id(&id, id_text, &err) &&
            status_read(quern, id, true, status, &err)) ||
           handle_fail(error, &err);
}

/* Follows the events from where the job stands, looking at none of them: only
 * the end of the watch matters. */
static bool await_end(struct quern *quern, const char *id, uint64_t after,
                      uint64_t end, struct quern_error *error)
{
    struct quern_watch *watch = quern_watch_open(quern, id, after, error);
    enum quern_next next = QUERN_EVENT;
    struct quern_event event;

    while (watch && next != QUERN_END && next != QUERN_BROKEN) {
        uint64_t now = clock_ms();

        if (now >= end)
            break;
        next = quern_watch_next(watch, &event, end - now, error);
    }
    quern_watch_close(watch);
    return next == QUERN_END;
}

bool quern_wait(struct quern *quern, const char *id, uint64_t timeout_ms,
                struct quern_status *status, struct quern_error *error)
{
    uint64_t end = clock_ms() + timeout_ms;
    struct quern_error why = { 0 };
    struct err err = { 0 };

    if (!quern_get(quern, id, status, error))
        return false;
    if (quern_state_is_terminal(status->state))
        return true;
    if (await_end(quern, id, status->seq, end, &why))
        return quern_get(quern, id, status, error);
    if (why.kind == 0) {
        err_set(&err, ERR_RETRY, "timeout",
                "job %s has not ended within %" PRIu64 " ms: it is %s", id,
                timeout_ms, quern_state_name(status->state));
        return handle_fail(error, &err);
    }
    if (error)
        *error = why;
    return false;
}
