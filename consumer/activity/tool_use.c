/* tool_use.c - one use of a tool: journal, call, journal. */
#include "consumer/activity/tool_use.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- life cycle */

struct tool_use *tool_use_new(struct tool_uses *uses, struct view call,
                              uint64_t number)
{
    struct tool_use *use = calloc(1, sizeof(*use));
    if (!use)
        abort();
    use->uses = uses;
    use->attempt = uses->activity->attempt;
    use->number = use->asked_as = number;
    use->begun_ms = attempt_now_ms(use->attempt);
    snprintf(use->call, sizeof(use->call), "%.*s", VIEW_ARG(call));
    if (number > 0)
        snprintf(use->id, sizeof(use->id), "%s/%llu", use->call,
                 (unsigned long long)number);
    else
        memcpy(use->id, use->call, sizeof(use->call));
    buf_init(&use->data, MAX_RECORD_BYTES);
    use->next = uses->first;
    uses->first = use;
    return use;
}

void tool_use_free(struct tool_use *use)
{
    struct tool_use **link = &use->uses->first;
    while (*link != use)
        link = &(*link)->next;
    *link = use->next;
    journal_forget(&use->attempt->journal, use);
    tool_call_free(use->made);
    buf_finish(&use->data);
    free(use);
}

void tool_uses_drop(struct tool_uses *uses)
{
    while (uses->first)
        tool_use_free(uses->first);
}

/* -------------------------------------------------------------- journaling */

static void start_call(struct tool_use *use)
{
    use->begun_ms = attempt_now_ms(use->attempt);
    tool_call_start(use->made);
}

/* The intent is durable. An attempt that is about to stop makes no call any
 * more: it waited for this record, so it is run. */
static void on_intent(void *owner, const redisReply *reply)
{
    struct tool_use *use = owner;
    (void)reply;
    if (use->attempt->stop != STOP_NONE)
        attempt_run(use->attempt);
    else
        start_call(use);
}

static void on_result(void *owner, const redisReply *reply)
{
    struct tool_use *use = owner;
    struct attempt *attempt = use->attempt;
    (void)reply;
    if (attempt->stop != STOP_NONE)
        attempt_run(attempt);
    else
        use->uses->side->answer(use);
}

/* In one step with the event that tells of it. */
static void write_record(struct tool_use *use, struct record *record,
                         const char *type, const struct event_data *data,
                         journal_done *done)
{
    struct attempt *attempt = use->attempt;
    struct journal_entry entry = { .type = type, .data = data };
    struct buf bytes;
    struct err err;
    record->attempt = attempt->origin.number;
    record->turn = attempt->conversation.turn;
    record->call = view_of(use->call);
    record->number = use->number;
    record->hash = view_of(use->hash);
    if (!journal_encode(record, &bytes, &err))
        abort(); /* all parts are bounded */
    entry.record = &bytes;
    journal_write(&attempt->journal, &entry, done, use);
}

static struct event_data about(const struct tool_use *use)
{
    return (struct event_data){
        .turn = use->attempt->conversation.turn,
        .call = view_of(use->id),
        .parent = use->number > 0 ? view_of(use->call) : VIEW(""),
    };
}

static void write_result(struct tool_use *use)
{
    bool failed = use->why.kind != ERR_NONE;
    CLEANUP(buf_finish) struct buf observation;
    buf_init(&observation, MAX_RECORD_BYTES);
    struct record record = {
        .kind = RECORD_TOOL_RESULT,
        .failed = failed,
        .brake = use->ruling == RULING_FORBID ? BRAKED_FORBID : BRAKED_NOT,
        .ms = attempt_now_ms(use->attempt) - use->begun_ms,
    };
    struct event_data data = about(use);
    use->uses->side->result(use, &record, &observation);
    data.tool = view_head(record.tool, MAX_NAME_BYTES);
    data.status = use->ruling == RULING_BAR ? VIEW("refused")
                  : failed                  ? VIEW("error")
                                            : VIEW("ok");
    data.ms = record.ms;
    write_record(use, &record, "tool.completed", &data, on_result);
}

/* ---------------------------------------------------------------- calling */

static void on_done(void *owner, struct view data, const struct err *why)
{
    struct tool_use *use = owner;
    use->why = *why;
    if (why->kind == ERR_NONE)
        buf_add(&use->data, data);
    tool_call_free(use->made);
    use->made = NULL;
    write_result(use);
}

bool tool_use_prepare(struct tool_use *use, struct view arguments,
                      struct err *err)
{
    const struct attempt *attempt = use->attempt;
    const struct job *job = &attempt->job;
    struct caller caller = {
        .job = view_of(attempt->origin.id),
        .tenant = job->tenant.len > 0 ? job->tenant : VIEW("default"),
        .session = job->session,
        .metadata = job->metadata,
    };
    use->made = tool_call_new(&use->attempt->consumer->tool_host, use->tool,
                              &caller, arguments, on_done, use, err);
    return use->made;
}

void tool_use_begin(struct tool_use *use)
{
    struct record record = { .kind = RECORD_TOOL_INTENT };
    struct event_data data = about(use);
    use->uses->side->intend(use, &record, &data);
    data.tool = view_head(record.tool, MAX_NAME_BYTES);
    write_record(use, &record, "tool.started", &data, on_intent);
}

void tool_use_resume(struct tool_use *use)
{
    struct err why = { .kind = ERR_NONE };
    if (use->tool->repeat) {
        start_call(use);
        return;
    }
    err_set(&why, ERR_REJECT, "unknown_outcome",
            "what became of this call is not known: it may have been carried "
            "out");
    tool_use_fail(use, &why);
}

void tool_use_fail(struct tool_use *use, const struct err *why)
{
    use->why = *why;
    tool_call_free(use->made);
    use->made = NULL;
    write_result(use);
}
