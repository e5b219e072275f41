/* transition.c - the commands of library/, and what their replies say. */
#include "schemas/redis/transition.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/id.h"
#include "schemas/message/result.h"
#include "schemas/redis/conn.h"

/* FCALL quern_v1_<name> 1 ROOT; the key lives in the command itself. */
static void begin(struct command *command, const char *function,
                  const struct names *names, unsigned int partition)
{
    struct key root = names_root(names, partition);

    command_init(command, "FCALL");
    command_add_text(command, function);
    command_add_text(command, "1");
    static_assert(sizeof(root.text) <= sizeof(command->scratch[0]),
                  "a key fits");
    memcpy(command->scratch[0], root.text, root.len);
    command_add(command, (struct view){ command->scratch[0], root.len });
}

static void begin_job(struct command *command, const char *function,
                      const struct names *names, struct view id)
{
    unsigned int partition = 0;

    /* Not an id: the function of partition 0 refuses it in a sentence. */
    id_parse(id, &partition);
    begin(command, function, names, partition);
    command_add(command, id);
}

static void begin_held(struct command *command, const char *function,
                       const struct names *names, struct holding holding)
{
    begin_job(command, function, names, holding.id);
    command_add_uint(command, holding.epoch);
}

void transition_build_command(struct command *command)
{
    command_init(command, "FCALL");
    command_add_text(command, "quern_v1_build");
    command_add_text(command, "0");
}

void transition_load_command(struct command *command)
{
    command_init(command, "FUNCTION");
    command_add_text(command, "LOAD");
    command_add_text(command, "REPLACE");
    command_add_text(command, transition_library);
}

/* ---------------------------------------------------- reading the replies */

/* Says that library and code do not fit; nothing a job could be blamed for. */
static bool misfit(struct err *err, const char *function)
{
    return err_set(err, ERR_RETRY, "internal",
                   "%s answered in a form that this build does not know",
                   function);
}

/* The elements of an array of at least count; NULL with err. */
static redisReply **expect(const redisReply *reply, const char *function,
                           size_t count, struct err *err)
{
    if (!reply_ok(reply, err))
        return NULL;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements >= count)
        return reply->element;
    misfit(err, function);
    return NULL;
}

static bool is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING ||
           reply->type == REDIS_REPLY_STATUS;
}

static struct view text_of(const redisReply *reply)
{
    if (!is_text(reply))
        return (struct view){ "", 0 };
    return (struct view){ reply->str, reply->len };
}

static uint64_t uint_of(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer > 0
               ? (uint64_t)reply->integer
               : 0;
}

/* ------------------------------------------------------------- submit */

static void add_pair(struct command *command, const char *name,
                     struct view value)
{
    if (value.len == 0)
        return;
    command_add_text(command, name);
    command_add(command, value);
}

static void add_number(struct command *command, const char *name,
                       uint64_t value)
{
    if (value == 0)
        return;
    command_add_text(command, name);
    command_add_uint(command, value);
}

void transition_submit(struct command *command, const struct names *names,
                       const struct submit *submit)
{
    const struct file_ref *files = submit->files.items;
    unsigned int partition = 0;

    id_parse(submit->id, &partition);
    begin(command, "quern_v1_submit", names, partition);
    add_pair(command, "id", submit->id);
    add_pair(command, "job", submit->body);
    add_pair(command, "queue", submit->queue);
    add_pair(command, "priority", view_of(priority_names[submit->priority]));
    add_pair(command, "tenant", submit->tenant);
    add_pair(command, "session", submit->session);
    add_pair(command, "idempotency_key", submit->idempotency_key);
    add_number(command, "idempotency_ttl_ms", submit->idempotency_ttl_ms);
    add_number(command, "deadline_ms", submit->deadline_ms);
    add_number(command, "max_depth", submit->max_depth);
    for (size_t i = 0; i < submit->files.count; i++)
        add_pair(command, "blob", files[i].blob);
}

bool transition_submitted(const redisReply *reply, struct view *id,
                          bool *existed, struct err *err)
{
    redisReply **part = expect(reply, "submit", 2, err);

    if (!part)
        return false;
    *id = text_of(part[0]);
    *existed = view_is(text_of(part[1]), "exists");
    return id->len > 0 || misfit(err, "submit");
}

/* -------------------------------------------------------------- start */

void transition_start(struct command *command, const struct names *names,
                      unsigned int partition, const struct claim *claim)
{
    begin(command, "quern_v1_start", names, partition);
    command_add(command, claim->stream);
    command_add(command, claim->entry);
    command_add(command, claim->consumer);
    command_add_uint(command, claim->lease_ms);
    command_add_uint(command, claim->max_crashes);
}

enum started_part { /* as run_job() in run.lua has them */
                    PART_RUN,
                    PART_REASON,
                    PART_ID,
                    PART_EPOCH,
                    PART_ATTEMPT,
                    PART_CRASHES,
                    PART_CANCEL,
                    PART_NOW,
                    PART_DEADLINE_AT,
                    PART_SUBMITTED_AT,
                    PART_BODY,
                    PART_JOURNAL,
                    PARTS,
};

bool transition_started(const redisReply *reply, struct started *started,
                        struct err *err)
{
    redisReply **part = expect(reply, "start", PART_ID + 1, err);

    if (!part)
        return false;
    *started = (struct started){
        .run = uint_of(part[PART_RUN]),
        .reason = text_of(part[PART_REASON]),
        .id = text_of(part[PART_ID]),
    };
    if (!started->run)
        return true;
    if (reply->elements < PARTS ||
        part[PART_JOURNAL]->type != REDIS_REPLY_ARRAY)
        return misfit(err, "start");
    started->epoch = uint_of(part[PART_EPOCH]);
    started->attempt = uint_of(part[PART_ATTEMPT]);
    started->crashes = uint_of(part[PART_CRASHES]);
    started->cancel = uint_of(part[PART_CANCEL]);
    started->now = uint_of(part[PART_NOW]);
    started->deadline_at = uint_of(part[PART_DEADLINE_AT]);
    started->submitted_at = uint_of(part[PART_SUBMITTED_AT]);
    started->body = text_of(part[PART_BODY]);
    started->journal = part[PART_JOURNAL];
    started->records = part[PART_JOURNAL]->elements;
    return true;
}

/* ------------------------------------------------------ while it runs */

void transition_beat(struct command *command, const struct names *names,
                     unsigned int partition, struct view consumer,
                     const struct holding *holdings, size_t count)
{
    begin(command, "quern_v1_beat", names, partition);
    command_add(command, consumer);
    for (size_t i = 0; i < count; i++) {
        command_add(command, holdings[i].id);
        command_add_uint(command, holdings[i].epoch);
    }
}

bool transition_beaten(const redisReply *reply, struct beaten *beaten,
                       size_t count, struct err *err)
{
    redisReply **part = expect(reply, "beat", count * 2, err);

    if (!part)
        return false;
    for (size_t i = 0; i < count; i++)
        beaten[i] = (struct beaten){
            .held = uint_of(part[2 * i]),
            .cancel = uint_of(part[2 * i + 1]),
        };
    return true;
}

static void add_events(struct command *command, const struct event_text *events,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        command_add_text(command, events[i].type);
        command_add(command, events[i].data);
    }
}

void transition_journal(struct command *command, const struct names *names,
                        struct holding holding, uint64_t index,
                        struct view record, const struct event_text *events,
                        size_t count)
{
    begin_held(command, "quern_v1_journal", names, holding);
    command_add_uint(command, index);
    command_add(command, record);
    add_events(command, events, count);
}

void transition_event(struct command *command, const struct names *names,
                      struct holding holding, uint64_t number,
                      const struct event_text *events, size_t count)
{
    begin_held(command, "quern_v1_event", names, holding);
    command_add_uint(command, number);
    add_events(command, events, count);
}

/* ----------------------------------------------------------- sessions */

static void add_session(struct command *command, struct session_key session)
{
    char *text = command->scratch[1];
    int len = snprintf(text, sizeof(command->scratch[1]), "%.*s/%.*s",
                       VIEW_ARG(session.tenant), VIEW_ARG(session.name));

    assert(len > 0 && (size_t)len < sizeof(command->scratch[1]));
    command_add(command, (struct view){ text, (size_t)len });
}

void transition_session_claim(struct command *command,
                              const struct names *names, struct holding holding,
                              struct session_key session, uint64_t ttl_ms)
{
    begin_held(command, "quern_v1_session_claim", names, holding);
    add_session(command, session);
    command_add_uint(command, ttl_ms);
}

bool transition_session_claimed(const redisReply *reply,
                                struct session_turn *turn, struct err *err)
{
    redisReply **part = expect(reply, "session_claim", 2, err);

    if (!part)
        return false;
    *turn = (struct session_turn){ .mine = uint_of(part[0]) };
    if (turn->mine)
        turn->record = text_of(part[1]);
    else
        turn->other = text_of(part[1]);
    turn->runs =
        reply->elements > 2 && view_is(text_of(part[2]), "in_progress");
    return true;
}

void transition_session_save(struct command *command, const struct names *names,
                             const struct session_save *save)
{
    const struct session_file *files = save->files.items;

    begin_held(command, "quern_v1_session_save", names, save->holding);
    add_session(command, save->session);
    command_add_uint(command, save->generation);
    command_add_text(command, save->closed ? "0" : "1");
    command_add_uint(command, save->ttl_ms);
    command_add_uint(command, save->kept_ms);
    command_add(command, save->record);
    command_add(command, save->picture);
    for (size_t i = 0; i < save->files.count; i++)
        if (files[i].blob.len > 0)
            command_add(command, files[i].blob);
}

/* -------------------------------------------------- the ways out of it */

void transition_finish(struct command *command, const struct names *names,
                       const struct finish *finish)
{
    assert(job_state_is_terminal(finish->state));
    begin_held(command, "quern_v1_finish", names, finish->holding);
    command_add_text(command, job_state_names[finish->state]);
    command_add(command, finish->result);
    command_add(command, finish->event_data);
    command_add(command, finish->error_code);
    command_add_uint(command, finish->result_ttl_ms);
    command_add_uint(command, finish->dead_ttl_ms);
}

void transition_release(struct command *command, const struct names *names,
                        struct holding holding, struct view reason)
{
    begin_held(command, "quern_v1_release", names, holding);
    command_add(command, reason);
}

void transition_reclaim(struct command *command, const struct names *names,
                        unsigned int partition, const struct reclaim *reclaim)
{
    begin(command, "quern_v1_reclaim", names, partition);
    command_add(command, reclaim->stream);
    command_add_uint(command, reclaim->lease_ms);
    command_add_uint(command, reclaim->max_crashes);
    command_add_uint(command, reclaim->count);
    command_add(command, reclaim->cursor);
}

bool transition_reclaimed(const redisReply *reply, struct view *cursor,
                          uint64_t *jobs, struct err *err)
{
    redisReply **part = expect(reply, "reclaim", 2, err);

    if (!part)
        return false;
    *cursor = text_of(part[0]);
    *jobs = uint_of(part[1]);
    return cursor->len > 0 || misfit(err, "reclaim");
}

void transition_cancel(struct command *command, const struct names *names,
                       struct view id, struct view reason)
{
    begin_job(command, "quern_v1_cancel", names, id);
    command_add(command, reason);
}

bool transition_cancelled(const redisReply *reply, enum cancelled *outcome,
                          struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    struct view said = text_of(reply);
    if (view_is(said, "cancelled"))
        *outcome = CANCEL_DONE;
    else if (view_is(said, "asked"))
        *outcome = CANCEL_ASKED;
    else if (view_is(said, "late"))
        *outcome = CANCEL_TOO_LATE;
    else
        return misfit(err, "cancel");
    return true;
}
