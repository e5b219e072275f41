/* status.c - what became of a job: asking once, and waiting for its end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/handle.h"
#include "schemas/message/event.h"
#include "schemas/message/result.h"
#include "schemas/redis/transition.h"

/* The fields of the job's hash that are asked for, and their places in the
 * reply. */
static const char *const asked[] = {
    "state",      "attempts",    "seq",        "submitted_at",
    "started_at", "finished_at", "error_code",
};
enum { BLOCK_MS = 5000 }; /* of one read */
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
    free(status->answer);
    free(status->error_text);
    *status = (struct quern_status){ 0 };
}

void status_ask(struct command *command, const struct names *names,
                struct view id)
{
    struct key key = names_job(names, id);

    command_init(command, "HMGET");
    command_add_copy(command, key_view(&key));
    for (size_t i = 0; i < ASKED; i++)
        command_add_text(command, asked[i]);
}

static redisReply *status_read_hash(struct quern *quern, struct view id,
                                    struct err *err)
{
    struct command command;
    redisReply *reply;

    status_ask(&command, &quern->fleet->names, id);
    reply = handle_call_job(quern, id, &command, err);
    command_finish(&command);
    return reply;
}

/* answer and error_text are for callers who read no MessagePack. A result that
 * cannot be decoded (of a later version) leaves both empty. */
static void read_texts(struct quern_status *status)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = { status->result, status->result_size };
    struct result result = { 0 };

    if (status->expired ||
        !message_decode(&schema_result, bytes, &result, &arena, NULL))
        result = (struct result){ 0 };
    if (status->expired)
        result.error.message = VIEW("its result is no longer kept");
    status->answer = view_dup(result.answer);
    status->error_text = view_dup(result.error.message);
}

void status_take_result(struct quern_status *status, const redisReply *reply)
{
    status->expired = reply->type != REDIS_REPLY_STRING;
    if (!status->expired) {
        status->result = view_dup((struct view){ reply->str, reply->len });
        status->result_size = reply->len;
    }
    read_texts(status);
}

static bool status_read_result(struct quern *quern, struct view id,
                               struct quern_status *status, struct err *err)
{
    struct key key = names_result(&quern->fleet->names, id);
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    reply = handle_call_job(quern, id, &command, err);
    command_finish(&command);
    if (!reply)
        return false;
    status_take_result(status, reply);
    return true;
}

static const char *status_text_at(const redisReply *reply, size_t i)
{
    const char *text = reply->element[i]->str;

    return text ? text : "";
}

static uint64_t number_at(const redisReply *reply, size_t i)
{
    return strtoull(status_text_at(reply, i), NULL, 10);
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

bool status_told(const redisReply *reply, struct view id,
                 struct quern_status *status, struct err *err)
{
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
    snprintf(status->error_code, sizeof(status->error_code), "%s",
             status_text_at(reply, ERROR));
    if (!state_of(status_text_at(reply, STATE), &status->state))
        return err_set(err, ERR_REJECT, "bad_message",
                       "job %.*s: \"%s\" is not a state that this client knows",
                       VIEW_ARG(id), status_text_at(reply, STATE));
    return true;
}

/* Two reads, so the result may expire in between: status->expired then. */
bool status_read(struct quern *quern, struct view id, bool with_result,
                 struct quern_status *status, struct err *err)
{
    CLEANUP(cleanup_reply) redisReply *reply = status_read_hash(quern, id, err);

    if (!reply || !status_told(reply, id, status, err))
        return false;
    return !with_result || !quern_state_is_terminal(status->state) ||
           status_read_result(quern, id, status, err);
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

/* Waits for new entries of the job's stream, on the handle's own connection:
 * the call's timeout is longer by the time for which Redis blocks. NULL with
 * ERR_NONE: none came. */
static redisReply *read_events(struct quern *quern, struct view id,
                               uint64_t after, uint64_t block_ms,
                               struct err *err)
{
    struct quern patient = *quern; /* borrows all of it */
    struct key key = names_events(&quern->fleet->names, id);
    struct command command;
    redisReply *reply;
    char start[32];

    if (patient.timeout_ms < UINT64_MAX - block_ms)
        patient.timeout_ms += block_ms;
    snprintf(start, sizeof(start), "%" PRIu64 "-0", after);
    command_init(&command, "XREAD");
    command_add_text(&command, "BLOCK");
    command_add_uint(&command, block_ms);
    command_add_text(&command, "STREAMS");
    command_add(&command, key_view(&key));
    command_add_text(&command, start);
    reply = handle_call_job(&patient, id, &command, err);
    command_finish(&command);
    if (reply && reply->type != REDIS_REPLY_NIL)
        return reply;
    cleanup_reply(&reply);
    return NULL;
}

/* Waits until the job's terminal event, or the end of the time; true also when
 * nothing came for BLOCK_MS. In each case the caller asks for the status again:
 * events may be lost in a failover, the status is what counts. */
static bool await_end(struct quern *quern, struct view id, uint64_t seq,
                      uint64_t end, struct err *err)
{
    for (uint64_t now = clock_ms(); now < end; now = clock_ms()) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        CLEANUP(cleanup_reply)
        redisReply *reply = read_events(
            quern, id, seq, end - now < BLOCK_MS ? end - now : BLOCK_MS, err);
        const redisReply *entries;
        struct event event;

        if (!reply)
            return err->kind == ERR_NONE;
        entries = reply->element[0]->element[1];
        if (!event_decode(&event,
                          entry_event(entries->element[entries->elements - 1]),
                          &arena, err))
            return false;
        if (event_is_terminal(event.type))
            return true;
        seq = event.seq;
    }
    return true;
}

static bool wait_for(struct quern *quern, struct view id, uint64_t end,
                     struct quern_status *status, struct err *err)
{
    for (;;) {
        err->kind = ERR_NONE;
        if (status_read(quern, id, true, status, err)) {
            if (quern_state_is_terminal(status->state))
                return true;
            if (clock_ms() >= end)
                return err_set(err, ERR_RETRY, "timeout",
                               "job %.*s has not ended in time: it is %s",
                               VIEW_ARG(id), quern_state_name(status->state));
            if (await_end(quern, id, status->seq, end, err))
                continue;
        }
        /* Redis may come back; no other fault passes by itself. A Redis that
         * never answered is more likely a wrong address. */
        if (err->kind != ERR_RETRY || !quern->fleet->met || clock_ms() >= end)
            return false;
    }
}

bool quern_wait(struct quern *quern, const char *id_text, uint64_t timeout_ms,
                struct quern_status *status, struct quern_error *error)
{
    uint64_t end = clock_after(timeout_ms);
    struct err err = { 0 };
    struct view id;

    *status = (struct quern_status){ 0 };
    return (handle_id(&id, id_text, &err) &&
            wait_for(quern, id, end, status, &err)) ||
           handle_fail(error, &err);
}
