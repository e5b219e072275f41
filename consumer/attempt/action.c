/* action.c - what a job of kind session does with its session.
 *
 * It waits for its turn like any job of the session, so what Redis knows is
 * what the last one left: show, files and get are answered from there, and a
 * fork begins there. Nothing is moved to this host for them. */
#include <stdio.h>

#include "consumer/attempt/attempt.h"
#include "consumer/blob.h"

static enum turn refuse(struct attempt *attempt, const char *code,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum turn refuse(struct attempt *attempt, const char *code,
                        const char *format, ...)
{
    char text[256];
    struct err why;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    err_set(&why, ERR_REJECT, code, "%s", text);
    return attempt_fail(attempt, &why);
}

static const struct session_file *find_file(const struct session_record *record,
                                            struct view name)
{
    const struct session_file *files = record->files.items;
    for (size_t i = 0; i < record->files.count; i++)
        if (view_equal(files[i].name, name))
            return &files[i];
    return NULL;
}

static bool is_used(const struct list *list, struct view name)
{
    const struct file_ref *files = list->items;
    for (size_t i = 0; i < list->count; i++)
        if (view_equal(files[i].name, name))
            return true;
    return false;
}

static void give_file(struct attempt *attempt, const struct session_file *from)
{
    struct list *list = &attempt->ending.files;
    struct file_ref *files = list->items;
    char name[MAX_FILE_NAME_BYTES + 1];
    struct view base = file_name_of(from->name, &attempt->answer);
    snprintf(name, sizeof(name), "%.*s", VIEW_ARG(base));
    for (int n = 2; is_used(list, view_of(name)); n++)
        snprintf(name, sizeof(name), "%d_%.*s", n, VIEW_ARG(base));
    files[list->count++] = (struct file_ref){
        .name = arena_copy(&attempt->answer, view_of(name)),
        .blob = from->blob,
        .bytes = from->bytes,
        .mime = mime_of(view_of(name)),
    };
}

/* In the order of names, once each. */
static enum turn give_files(struct attempt *attempt)
{
    const struct list *names = &attempt->job.action.names;
    const struct view *wanted = names->items;
    attempt->ending.files.items =
        arena_alloc(&attempt->answer, names->count * sizeof(struct file_ref));
    for (size_t i = 0; i < names->count; i++) {
        struct view shown = view_head(wanted[i], 80);
        const struct session_file *file =
            find_file(&attempt->session.known.record, wanted[i]);
        if (file == NULL)
            return refuse(attempt, "unknown_file",
                          "the session has no file \"%.*s\"", VIEW_ARG(shown));
        if (file->blob.len == 0)
            return refuse(attempt, "unknown_file", "the file \"%.*s\": %.*s",
                          VIEW_ARG(shown), VIEW_ARG(file->note));
        give_file(attempt, file);
    }
    return attempt_complete(attempt);
}

/* -------------------------------------------------------- what is written */

static void on_recorded(void *owner, const redisReply *reply,
                        const struct err *why);

static bool send_record(struct attempt *attempt, struct view name,
                        const struct known *known,
                        const struct session_record *record, struct err *err)
{
    struct session_key key = { attempt->session.setup.key.tenant, name };
    uint64_t generation = known->there ? known->record.generation : 0;
    return session_record_send(&attempt->session, key, generation, record,
                               on_recorded, attempt, err);
}

/* A fork is of what is left of it. */
static void send_rest(struct attempt *attempt)
{
    const struct session_record *record = &attempt->ending.record;
    struct err err;
    if (send_record(attempt, record->name, &attempt->fork, record, &err))
        return;
    attempt_fail(attempt, &err);
    attempt_run(attempt);
}

static void on_recorded(void *owner, const redisReply *reply,
                        const struct err *why)
{
    struct attempt *attempt = owner;
    if (attempt->state != RECORDING)
        attempt_written(attempt, reply, why);
    else if (reply == NULL && record_lets_go(&attempt->ending.record, why))
        send_rest(attempt);
    else
        attempt_landed(attempt, reply, why);
}

static enum turn write_record(struct attempt *attempt, struct view name,
                              const struct known *known,
                              const struct session_record *record)
{
    struct err err;
    attempt_go(attempt, RECORDING);
    attempt->begun = true;
    if (!send_record(attempt, name, known, record, &err))
        return attempt_fail(attempt, &err);
    return WAIT;
}

/* Executors may have it still: that it is over is remembered. */
static enum turn close_session(struct attempt *attempt)
{
    const struct known *known = &attempt->session.known;
    struct session_record next =
        session_record_next(&attempt->session.setup, known);
    struct session_record over = {
        .name = next.name,
        .tenant = next.tenant,
        .generation = next.generation,
        .closed = true,
        .job = view_of(attempt->id),
        .cells = next.cells,
        .created_ms = next.created_ms,
        .updated_ms = next.updated_ms,
    };
    session_close(&attempt->session);
    return write_record(attempt, over.name, known, &over);
}

static enum turn fork_session(struct attempt *attempt)
{
    struct view to = attempt->job.action.to;
    const struct known *fork = &attempt->fork;
    struct session_setup setup = attempt->session.setup;
    if (known_is_saved_by(fork, view_of(attempt->id))) {
        attempt->ending.record = fork->record;
        return attempt_complete(attempt);
    }
    if (known_is_open(fork))
        return refuse(attempt, "session_exists",
                      "there is a session \"%.*s\" already", VIEW_ARG(to));
    setup.key.name = to;
    struct session_record next =
        session_record_next(&setup, &attempt->session.known);
    next.generation = (fork->there ? fork->record.generation : 0) + 1;
    next.job = view_of(attempt->id);
    attempt->ending.record = next;
    return write_record(attempt, to, fork, &next);
}

static void on_claimed(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct attempt *attempt = owner;
    struct session_turn turn;
    struct err err = { 0 };
    if (reply == NULL || attempt->state != FORKING) {
        attempt_written(attempt, reply, why);
        return;
    }
    if (!transition_session_claimed(reply, &turn, &err) ||
        !known_read(&attempt->fork, turn.record, &err)) {
        attempt->fault = err;
        attempt_stop(attempt, STOP_FAULT);
        return;
    }
    if (!turn.mine) {
        err_set(&attempt->fault, ERR_REJECT, "session_exists",
                "a session \"%.*s\" is being used by job %.*s",
                VIEW_ARG(attempt->job.action.to), VIEW_ARG(turn.other));
        attempt_stop(attempt, STOP_FAULT);
        return;
    }
    attempt->landed = true;
    attempt_run(attempt);
}

enum turn step_forking(struct attempt *attempt)
{
    const struct session_setup *setup = &attempt->session.setup;
    struct session_key to = { setup->key.tenant, attempt->job.action.to };
    if (attempt->begun)
        return attempt->landed ? fork_session(attempt) : WAIT;
    attempt->begun = true;
    struct command command;
    transition_session_claim(&command, setup->names, setup->holding, to,
                             setup->ttl_ms);
    store_send(&attempt->store, &command, on_claimed, attempt);
    command_finish(&command);
    return WAIT;
}

enum turn step_recording(struct attempt *attempt)
{
    return attempt->landed ? attempt_complete(attempt) : WAIT;
}

/* ----------------------------------------------------------------- acting */

static enum turn act(struct attempt *attempt)
{
    const struct known *known = &attempt->session.known;
    int verb = attempt->job.action.verb;
    bool closed = known->there && known->record.closed &&
                  view_is(known->record.job, attempt->id);
    if (verb == ACTION_PUT || (verb == ACTION_CLOSE && closed))
        return attempt_complete(attempt);
    if (!known_is_open(known))
        return refuse(attempt, "unknown_session",
                      "there is no session \"%.*s\", or it has expired",
                      VIEW_ARG(attempt->job.session));
    if (verb == ACTION_CLOSE)
        return close_session(attempt);
    if (verb == ACTION_FORK)
        return attempt_go(attempt, FORKING);
    if (verb == ACTION_GET)
        return give_files(attempt);
    if (verb == ACTION_FILES)
        attempt->ending.listing = known->record.files;
    else
        attempt->ending.record = known->record;
    return attempt_complete(attempt);
}

enum turn step_acting(struct attempt *attempt)
{
    bool puts = attempt->job.action.verb == ACTION_PUT;
    struct wish wish = { .kind = puts ? WISH_READY : WISH_CLAIM };
    enum turn turn;
    return attempt_wishes(attempt, &wish, &turn) ? act(attempt) : turn;
}
