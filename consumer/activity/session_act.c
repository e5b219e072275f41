/* session_act.c - what a job of kind session does with its session.
 *
 *   ACTING --> FORKING --> RECORDING --> the job is complete
 *    ^  |'--------------------^
 *    |  '--> the job is complete
 *   RESTING
 *
 * The job waits for its turn like any job of the session, so the record in
 * Redis is what the job before has left. show, files and get are answered from
 * the record, and a fork is a copy of it; nothing is moved to this host for
 * them. Only put opens the session, which places the job's files in it.
 *
 * An attempt may die when its action is done. So close and fork look first
 * whether the record says that this job has done it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "consumer/activity/activity.h"
#include "consumer/blob.h"
#include "consumer/output/output.h"
#include "consumer/python/record.h"

enum { ACTING, FORKING, RECORDING, RESTING, STATES };

struct session_act {
    struct activity activity;
    struct session_memo fork; /* the record of the session that is forked to */
};

static const struct activity_kind kind;

/* The job is done: the attempt goes to SAVING when the activity has ended. */
static enum pace complete(struct session_act *act)
{
    attempt_complete(act->activity.attempt);
    return activity_done(&act->activity);
}

static enum pace act_refuse(struct session_act *act, const char *code,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum pace act_refuse(struct session_act *act, const char *code,
                            const char *format, ...)
{
    char text[256];
    struct err why;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    err_set(&why, ERR_REJECT, code, "%s", text);
    return activity_fail(&act->activity, &why);
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

/* Files of two folders may have one name: the second gets a number before it.
 */
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

/* Lists the files that the action names, in its order, in the result. */
static enum pace give_files(struct session_act *act)
{
    struct attempt *attempt = act->activity.attempt;
    const struct list *names = &attempt->job.action.names;
    const struct view *wanted = names->items;
    attempt->ending.files.items =
        arena_alloc(&attempt->answer, names->count * sizeof(struct file_ref));
    for (size_t i = 0; i < names->count; i++) {
        struct view shown = view_head(wanted[i], 80);
        const struct session_file *file =
            find_file(&session_memo(attempt->session)->record, wanted[i]);
        if (!file)
            return act_refuse(act, "unknown_file",
                              "the session has no file \"%.*s\"",
                              VIEW_ARG(shown));
        if (file->blob.len == 0)
            return act_refuse(act, "unknown_file", "the file \"%.*s\": %.*s",
                              VIEW_ARG(shown), VIEW_ARG(file->note));
        give_file(attempt, file);
    }
    return complete(act);
}

/* -------------------------------------------------------- what is written */

static store_done on_recorded, on_claimed;

static bool send_record(struct session_act *act, struct view name,
                        const struct session_memo *memo,
                        const struct session_record *record, struct err *err)
{
    struct attempt *attempt = act->activity.attempt;
    struct session_key key = { session_setup(attempt->session)->key.tenant,
                               name };
    uint64_t generation = memo->exists ? memo->record.generation : 0;
    return record_send(attempt->session, key, generation, record, on_recorded,
                       attempt, err);
}

/* A blob of the session is gone: the fork is made without it. */
static void send_rest(struct session_act *act)
{
    struct attempt *attempt = act->activity.attempt;
    const struct session_record *record = &attempt->ending.record;
    struct err err;
    if (send_record(act, record->name, &act->fork, record, &err))
        return;
    attempt_fail(attempt, &err);
    attempt_run(attempt);
}

static void on_recorded(void *owner, const redisReply *reply,
                        const struct err *why)
{
    struct attempt *attempt = owner;
    struct activity *activity = activity_find(attempt, &kind, RECORDING);
    if (activity && !reply && record_forget_blob(&attempt->ending.record, why))
        send_rest((struct session_act *)activity);
    else if (!activity || !reply)
        attempt_written(attempt, reply, why);
    else
        activity_land(activity);
}

static enum pace act_write_record(struct session_act *act, struct view name,
                                  const struct session_memo *memo,
                                  const struct session_record *record)
{
    struct err err;
    machine_go(&act->activity.machine, RECORDING);
    if (!send_record(act, name, memo, record, &err))
        return activity_fail(&act->activity, &err);
    return WAIT;
}

/* The record stays, and says that the session is closed. So what an executor
 * may still have under that name is never taken for the session. */
static enum pace close_session(struct session_act *act)
{
    struct attempt *attempt = act->activity.attempt;
    const struct session_memo *memo = session_memo(attempt->session);
    struct session_record next =
        record_next(session_setup(attempt->session), memo);
    struct session_record over = {
        .name = next.name,
        .tenant = next.tenant,
        .generation = next.generation,
        .closed = true,
        .job = view_of(attempt->origin.id),
        .cells = next.cells,
        .created_ms = next.created_ms,
        .updated_ms = next.updated_ms,
    };
    session_close(attempt->session);
    return act_write_record(act, over.name, memo, &over);
}

static enum pace fork_session(void *owner)
{
    struct session_act *act = owner;
    struct attempt *attempt = act->activity.attempt;
    struct view to = attempt->job.action.to, id = view_of(attempt->origin.id);
    const struct session_memo *fork = &act->fork;
    struct session_setup setup = *session_setup(attempt->session);
    if (memo_is_saved_by(fork, id)) { /* by an attempt before this one */
        attempt->ending.record = fork->record;
        return complete(act);
    }
    if (memo_is_open(fork))
        return act_refuse(act, "session_exists",
                          "there is a session \"%.*s\" already", VIEW_ARG(to));
    setup.key.name = to;
    struct session_record next =
        record_next(&setup, session_memo(attempt->session));
    next.generation = (fork->exists ? fork->record.generation : 0) + 1;
    next.job = id;
    attempt->ending.record = next;
    return act_write_record(act, to, fork, &next);
}

/* Reads whose turn it is in the session that is forked to, and its record. */
static bool read_fork(struct session_act *act, const redisReply *reply,
                      struct err *err)
{
    struct session_claim_reply claim;
    if (!transition_session_claimed(reply, &claim, err) ||
        !memo_read(&act->fork, claim.record, err))
        return false;
    return claim.mine || err_set(err, ERR_REJECT, "session_exists",
                                 "a session \"%.*s\" is being used by job %.*s",
                                 VIEW_ARG(act->activity.attempt->job.action.to),
                                 VIEW_ARG(claim.other));
}

static void on_claimed(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct attempt *attempt = owner;
    struct activity *activity = activity_find(attempt, &kind, FORKING);
    struct err err = { 0 };
    if (!reply || !activity) {
        attempt_written(attempt, reply, why);
    } else if (!read_fork((struct session_act *)activity, reply, &err)) {
        attempt->fault = err;
        attempt_stop(attempt, STOP_FAULT);
    } else {
        activity_land(activity);
    }
}

static enum pace enter_forking(void *owner)
{
    struct session_act *act = owner;
    struct attempt *attempt = act->activity.attempt;
    const struct session_setup *setup = session_setup(attempt->session);
    struct session_key to = { setup->key.tenant, attempt->job.action.to };
    struct command command;
    transition_session_claim(&command, setup->names, setup->lease, to,
                             setup->ttl_ms);
    store_send(&attempt->store, &command, on_claimed, attempt);
    command_finish(&command);
    return WAIT;
}

static enum pace step_recorded(void *owner)
{
    return complete(owner);
}

/* ----------------------------------------------------------------- acting */

static enum pace enter_acting(void *owner)
{
    struct activity *activity = owner;
    bool puts = activity->attempt->job.action.verb == ACTION_PUT;
    struct session_request request = { .verb = puts ? SESSION_PREPARE
                                                    : SESSION_CLAIM };
    return activity_request(activity, &request);
}

static enum pace act_on(struct session_act *act)
{
    struct attempt *attempt = act->activity.attempt;
    const struct session_memo *memo = session_memo(attempt->session);
    int verb = attempt->job.action.verb;
    bool closed = memo->exists && memo->record.closed &&
                  view_is(memo->record.job, attempt->origin.id);
    if (verb == ACTION_PUT || (verb == ACTION_CLOSE && closed))
        return complete(act);
    if (!memo_is_open(memo))
        return act_refuse(act, "unknown_session",
                          "there is no session \"%.*s\", or it has expired",
                          VIEW_ARG(attempt->job.session));
    if (verb == ACTION_CLOSE)
        return close_session(act);
    if (verb == ACTION_FORK)
        return machine_go(&act->activity.machine, FORKING);
    if (verb == ACTION_GET)
        return give_files(act);
    if (verb == ACTION_FILES)
        attempt->ending.listing = memo->record.files;
    else
        attempt->ending.record = memo->record;
    return complete(act);
}

static enum pace step_acting(void *owner)
{
    enum pace pace = WAIT;
    return activity_is_granted(owner, &pace) ? act_on(owner) : pace;
}

/* ---------------------------------------------------------------- machine */

static void act_free(struct activity *activity)
{
    struct session_act *act = (struct session_act *)activity;
    memo_finish(&act->fork);
    free(act);
}

static const struct machine_state states[STATES] = {
    [ACTING] = { "acting", TO(FORKING) | TO(RECORDING) | TO(RESTING),
                 .enter = enter_acting, .landed = step_acting,
                 .limit_ms = ACTIVITY_OTHERS_MS },
    [FORKING] = { "forking", TO(RECORDING), .enter = enter_forking,
                  .landed = fork_session, .limit_ms = ACTIVITY_REDIS_MS },
    [RECORDING] = { "recording", 0, .landed = step_recorded,
                    .limit_ms = ACTIVITY_REDIS_MS },
    [RESTING] = { "resting", TO(ACTING), .landed = activity_rested },
};
static const struct activity_kind kind = {
    .machine = { "a session act", states, STATES, activity_entered, NULL },
    .resting = RESTING,
    .free = act_free,
};

void session_act_start(struct attempt *attempt)
{
    struct session_act *act = calloc(1, sizeof(*act));
    if (!act)
        abort();
    activity_init(&act->activity, &kind, attempt);
}
