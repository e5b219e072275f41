/* transition.c - the commands of library/, and what their replies say. */
#include "schemas/redis/transition.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/id.h"
#include "schemas/message/result.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/step.h"

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

/* ------------------------------------------------------------- submit */

static void add_submit(struct command *command, const struct submit *submit)
{
    /* The id first: in submit_many it begins the pairs of a job. */
    command_add_text(command, "id");
    command_add(command, submit->id);
    step_add_pair(command, "job", submit->body);
    step_add_pair(command, "idempotency_key", submit->idempotency_key);
    step_add_number(command, "idempotency_ttl_ms", submit->idempotency_ttl_ms);
    step_add_number(command, "not_before", submit->not_before);
    step_add_submit(command, submit);
}

void transition_submit(struct command *command, const struct names *names,
                       const struct submit *submit)
{
    unsigned int partition = 0;

    id_parse(submit->id, &partition);
    step_begin(command, "quern_v1_submit", names, partition);
    add_submit(command, submit);
}

void transition_submit_many(struct command *command, const struct names *names,
                            unsigned int partition,
                            const struct submit *submits, size_t count)
{
    step_begin(command, "quern_v1_submit_many", names, partition);
    for (size_t i = 0; i < count; i++)
        add_submit(command, &submits[i]);
}

bool transition_submitted_many(const redisReply *reply, size_t count,
                               struct err *err)
{
    return step_expect(reply, "submit_many", count, err);
}

void transition_repeat_take(struct command *command, const struct names *names,
                            unsigned int partition, struct view sha256,
                            unsigned int count)
{
    step_begin(command, "quern_v1_repeat_take", names, partition);
    command_add(command, sha256);
    command_add_uint(command, count);
}

bool transition_submitted(const redisReply *reply, struct view *id,
                          bool *existed, struct err *err)
{
    redisReply **part = step_expect(reply, "submit", 2, err);

    if (!part)
        return false;
    *id = step_text(part[0]);
    *existed = view_is(step_text(part[1]), "exists");
    return id->len > 0 || step_misfit(err, "submit");
}

/* ------------------------------------------------------------------ take */

void transition_take(struct command *command, const struct names *names,
                     unsigned int partition, const struct take *take)
{
    step_begin(command, "quern_v1_take", names, partition);
    command_add(command, take->consumer);
    command_add_uint(command, take->lease_ms);
    command_add_uint(command, take->max_crashes);
    command_add_uint(command, take->count);
    step_add_number(command, "ticket", take->ticket);
    for (size_t i = 0; i < take->entry_count; i++) {
        command_add_text(command, "entry");
        command_add(command, take->entries[i].stream);
        command_add(command, take->entries[i].entry);
    }
    for (size_t i = 0; i < take->queue_count; i++) {
        command_add_text(command, "queue");
        command_add(command, take->queues[i]);
    }
}

bool transition_taken(const redisReply *reply, size_t *count, struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    if (reply->type != REDIS_REPLY_ARRAY)
        return step_misfit(err, "take");
    *count = reply->elements;
    return true;
}

enum take_reply_part { /* as answer() in start.lua has them */
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
                       PART_ERRORS,
                       PART_APPROVAL,
                       PART_APPROVAL_NOTE,
                       PART_QUEUE,
                       PART_PRIORITY,
                       PART_TENANT,
                       PART_SESSION,
                       PARTS,
};

bool transition_take_reply(const redisReply *reply, struct take_reply *start,
                           struct err *err)
{
    redisReply **part = step_expect(reply, "take", PART_ID + 1, err);

    if (!part)
        return false;
    *start = (struct take_reply){
        .run = step_uint(part[PART_RUN]),
        .reason = step_text(part[PART_REASON]),
        .id = step_text(part[PART_ID]),
    };
    if (!start->run)
        return true;
    if (reply->elements < PARTS ||
        part[PART_JOURNAL]->type != REDIS_REPLY_ARRAY)
        return step_misfit(err, "take");
    start->epoch = step_uint(part[PART_EPOCH]);
    start->attempt = step_uint(part[PART_ATTEMPT]);
    start->crashes = step_uint(part[PART_CRASHES]);
    start->cancel = step_uint(part[PART_CANCEL]);
    start->now = step_uint(part[PART_NOW]);
    start->deadline_at = step_uint(part[PART_DEADLINE_AT]);
    start->submitted_at = step_uint(part[PART_SUBMITTED_AT]);
    start->body = step_text(part[PART_BODY]);
    start->journal = part[PART_JOURNAL];
    start->records = part[PART_JOURNAL]->elements;
    start->errors = step_uint(part[PART_ERRORS]);
    start->approval = step_text(part[PART_APPROVAL]);
    start->approval_note = step_text(part[PART_APPROVAL_NOTE]);
    start->queue = step_text(part[PART_QUEUE]);
    start->priority = step_text(part[PART_PRIORITY]);
    start->tenant = step_text(part[PART_TENANT]);
    start->session = step_text(part[PART_SESSION]);
    return true;
}

/* ------------------------------------------------------ while it runs */

void transition_beat(struct command *command, const struct names *names,
                     unsigned int partition, struct view consumer,
                     const struct job_lease *leases, size_t count)
{
    step_begin(command, "quern_v1_beat", names, partition);
    command_add(command, consumer);
    for (size_t i = 0; i < count; i++) {
        command_add(command, leases[i].id);
        command_add_uint(command, leases[i].epoch);
    }
}

bool transition_beaten(const redisReply *reply, struct beat_reply *beat,
                       size_t count, struct err *err)
{
    redisReply **part = step_expect(reply, "beat", count * 2, err);

    if (!part)
        return false;
    for (size_t i = 0; i < count; i++)
        beat[i] = (struct beat_reply){
            .held = step_uint(part[2 * i]),
            .cancel = step_uint(part[2 * i + 1]),
        };
    return true;
}

void transition_journal(struct command *command, const struct names *names,
                        struct job_lease lease, uint64_t index,
                        struct view record, const struct event_text *events,
                        size_t count)
{
    step_begin_held(command, "quern_v1_journal", names, lease);
    command_add_uint(command, index);
    command_add(command, record);
    step_add_events(command, events, count);
}

void transition_event(struct command *command, const struct names *names,
                      struct job_lease lease, uint64_t number,
                      const struct event_text *events, size_t count)
{
    step_begin_held(command, "quern_v1_event", names, lease);
    command_add_uint(command, number);
    step_add_events(command, events, count);
}

/* -------------------------------------------------- the ways out of it */

/* An endpoint may state any count; a job must end all the same, so a count
 * beyond what the library takes is lowered. */
static void add_figure(struct command *command, uint64_t figure)
{
    const uint64_t most = UINT64_C(999999999999999); /* the library's bound */

    command_add_uint(command, figure < most ? figure : most);
}

static void add_finish(struct command *command, const struct finish *finish)
{
    assert(job_state_is_terminal(finish->state));
    command_add(command, finish->lease.id);
    command_add_uint(command, finish->lease.epoch);
    command_add_text(command, job_state_names[finish->state]);
    command_add(command, finish->result);
    command_add(command, finish->event_data);
    command_add(command, finish->error_code);
    command_add_uint(command, finish->result_ttl_ms);
    command_add_uint(command, finish->dead_ttl_ms);
    add_figure(command, finish->tokens);
    add_figure(command, finish->cost);
}

void transition_finish_many(struct command *command, const struct names *names,
                            unsigned int partition,
                            const struct finish *finishes, size_t count)
{
    step_begin(command, "quern_v1_finish_many", names, partition);
    for (size_t i = 0; i < count; i++)
        add_finish(command, &finishes[i]);
}

bool transition_finished_many(const redisReply *reply, size_t count,
                              struct err *err)
{
    return step_expect(reply, "finish_many", count, err);
}

void transition_release(struct command *command, const struct names *names,
                        struct job_lease lease, struct view reason)
{
    step_begin_held(command, "quern_v1_release", names, lease);
    command_add(command, reason);
}

void transition_wait(struct command *command, const struct names *names,
                     const struct wait *wait)
{
    step_begin_held(command, "quern_v1_wait", names, wait->lease);
    command_add_uint(command, wait->delay_ms);
    command_add(command, wait->reason);
    command_add_uint(command, wait->errors);
    command_add(command, wait->event_data);
    if (wait->call.len == 0)
        return;
    command_add(command, wait->call);
    command_add(command, wait->fallback);
}

void transition_approve(struct command *command, const struct names *names,
                        const struct approval *approval)
{
    step_begin_job(command, "quern_v1_approve", names, approval->id);
    command_add_text(command, verdict_names[approval->verdict]);
    command_add(command, approval->note);
    command_add(command, approval->call);
    command_add(command, approval->text);
}

bool transition_approved(const redisReply *reply, bool *late, struct err *err)
{
    static const char *const words[] = { "queued", "late" };
    size_t word;

    if (!step_word(reply, "approve", words, 2, &word, err))
        return false;
    *late = word == 1;
    return true;
}

void transition_cancel(struct command *command, const struct names *names,
                       struct view id, struct view reason)
{
    step_begin_job(command, "quern_v1_cancel", names, id);
    command_add(command, reason);
}

bool transition_cancelled(const redisReply *reply, enum cancel_outcome *outcome,
                          struct err *err)
{
    static const char *const words[] = {
        [CANCEL_DONE] = "cancelled",
        [CANCEL_ASKED] = "asked",
        [CANCEL_TOO_LATE] = "late",
    };
    size_t word;

    if (!step_word(reply, "cancel", words, 3, &word, err))
        return false;
    *outcome = (enum cancel_outcome)word;
    return true;
}

void transition_latest(struct command *command, const struct names *names,
                       struct view id, uint64_t before, unsigned int count)
{
    struct key key = names_events(names, id);
    char last[32] = "+";

    if (before > 0)
        snprintf(last, sizeof(last), "(%llu-0", (unsigned long long)before);

    command_init(command, "XREVRANGE");
    command_add_copy(command, key_view(&key));
    command_add_copy(command, view_of(last));
    command_add_text(command, "-");
    command_add_text(command, "COUNT");
    command_add_uint(command, count);
}

/* An entry is its id and its fields; the event is the value of the first one.
 */
struct view transition_latest_event(const redisReply *reply, size_t index)
{
    const redisReply *entry, *fields;

    if (reply->type != REDIS_REPLY_ARRAY || index >= reply->elements)
        return (struct view){ "", 0 };
    entry = reply->element[index];
    fields = entry->elements == 2 ? entry->element[1] : NULL;
    if (!fields || fields->elements < 2 ||
        fields->element[1]->type != REDIS_REPLY_STRING)
        return (struct view){ "", 0 };
    return (struct view){ fields->element[1]->str, fields->element[1]->len };
}
