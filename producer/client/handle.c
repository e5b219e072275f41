/* handle.c - opening a handle, and calling Redis through it. */
#include "producer/client/handle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schemas/redis/transition.h"

uint64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t clock_after(uint64_t ms)
{
    uint64_t now = clock_ms();

    return ms < UINT64_MAX - now ? now + ms : UINT64_MAX;
}

void sleep_ms(uint64_t ms)
{
    struct timespec pause = { (time_t)(ms / 1000),
                              (long)(ms % 1000) * 1000000 };

    nanosleep(&pause, NULL);
}

void cleanup_reply(redisReply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
}

bool handle_fail(struct quern_error *error, const struct err *err)
{
    if (error) {
        error->kind = err->kind == ERR_RETRY ? QUERN_RETRY : QUERN_REJECT;
        memcpy(error->code, err->code, sizeof(error->code));
        memcpy(error->text, err->text, sizeof(error->text));
    }
    return false;
}

bool handle_id(struct view *id, const char *text, struct err *err)
{
    *id = view_of(text);
    if (!id_parse(*id, NULL))
        return err_set(err, ERR_REJECT, "bad_field",
                       "id: \"%.*s\" is not a job id (a lower-case UUIDv7)",
                       VIEW_ARG(view_head(*id, 64)));
    return true;
}

static bool open_handle(struct quern *quern,
                        const struct quern_options *options, struct err *err)
{
    const char *url = options->url ? options->url : getenv("REDIS_URL");
    const char *prefix = options->prefix ? options->prefix : "quern:";

    if (!address_parse(&quern->address, view_of(url), err) ||
        !names_init(&quern->names, prefix, err))
        return false;
    quern->timeout_ms =
        options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    quern->conn =
        conn_new(&quern->address, options->role ? options->role : "client");
    return true;
}

struct quern *quern_open(const struct quern_options *options,
                         struct quern_error *error)
{
    const struct quern_options defaults = { 0 };
    struct err err = { 0 };
    struct quern *quern = calloc(1, sizeof(*quern));

    if (!quern)
        abort();
    if (!open_handle(quern, options ? options : &defaults, &err)) {
        handle_fail(error, &err);
        quern_close(quern);
        return NULL;
    }
    return quern;
}

void quern_close(struct quern *quern)
{
    if (!quern)
        return;
    conn_free(quern->conn);
    address_finish(&quern->address);
    free(quern);
}

const char *quern_version(void)
{
    return QUERN_VERSION;
}

/* Error replies come back as replies. */
static redisReply *exchange(struct quern *quern, const struct command *command,
                            uint64_t timeout_ms, struct err *err)
{
    if (!conn_send(quern->conn, command, timeout_ms, err))
        return NULL;
    return conn_receive(quern->conn, timeout_ms, err);
}

bool handle_lacks_library(const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ERROR &&
           strstr(reply->str, "Function not found");
}

bool handle_load_library(struct quern *quern, uint64_t timeout_ms,
                         struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_load_command(&command);
    reply = exchange(quern, &command, timeout_ms, err);
    command_finish(&command);
    if (!reply)
        return false;
    return reply_ok(reply, err) ||
           err_prefix(err, "Redis lacks the function library quern_v1 and "
                           "does not let us load it (start a quern-consumer)");
}

static redisReply *call_once(struct quern *quern, const struct command *command,
                             uint64_t timeout_ms, struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *reply = exchange(quern, command, timeout_ms, err);
    redisReply *given;

    if (handle_lacks_library(reply)) {
        if (!handle_load_library(quern, timeout_ms, err))
            return NULL;
        freeReplyObject(reply);
        reply = exchange(quern, command, timeout_ms, err);
    }
    if (!reply || !reply_ok(reply, err))
        return NULL;
    given = reply;
    reply = NULL;
    return given;
}

bool handle_meet(struct quern *quern, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    if (quern->met)
        return true;
    command_init(&command, "PING");
    reply = exchange(quern, &command, quern->timeout_ms, err);
    command_finish(&command);
    quern->met = reply != NULL;
    return quern->met;
}

bool handle_may_pass(const struct err *fault)
{
    return fault->kind == ERR_RETRY &&
           strcmp(fault->code, "redis_unavailable") == 0;
}

redisReply *handle_call(struct quern *quern, const struct command *command,
                        struct err *err)
{
    uint64_t end = clock_after(quern->timeout_ms);
    uint64_t backoff = FIRST_BACKOFF_MS;

    if (!handle_meet(quern, err))
        return NULL;
    for (;;) {
        struct err fault = { 0 };
        uint64_t now = clock_ms();
        redisReply *reply =
            call_once(quern, command, now < end ? end - now : 1, &fault);

        if (reply)
            return reply;
        if (!handle_may_pass(&fault) || clock_ms() + backoff >= end) {
            *err = fault;
            return NULL;
        }
        sleep_ms(backoff);
        if (backoff < LAST_BACKOFF_MS)
            backoff *= 2;
    }
}

struct view entry_event(const redisReply *entry)
{
    const redisReply *fields;

    if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2)
        return (struct view){ 0 };
    fields = entry->element[1];
    if (fields->type != REDIS_REPLY_ARRAY || fields->elements < 2)
        return (struct view){ 0 };
    return (struct view){ fields->element[1]->str, fields->element[1]->len };
}
