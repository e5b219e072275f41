/* tool_calls.c - tools that the model calls itself.
 *
 * All calls of a reply up to the next one of Python are made at once: cells run
 * in the order of the reply, for other tools the order does not count. */
#include <stdlib.h>
#include <string.h>

#include "consumer/activity/tool_use.h"
#include "consumer/conversation/observation.h"

enum { EVENT_ARGUMENTS_BYTES = 4 << 10 }; /* in tool.started */

static const struct call *call_of(const struct tool_use *use)
{
    return conversation_find(&use->attempt->conversation, view_of(use->call));
}

static void name_call(const struct tool_use *use, struct record *record)
{
    const struct call *call = call_of(use);
    record->call_id = view_head(view_of(call->call_id), MAX_NAME_BYTES);
    record->tool = view_head(view_of(call->tool), MAX_NAME_BYTES);
}

static void intend(const struct tool_use *use, struct record *record,
                   struct event_data *data)
{
    name_call(use, record);
    record->arguments = use->arguments;
    data->text = view_head(use->arguments, EVENT_ARGUMENTS_BYTES);
}

/* The model is told the value, or a sentence why there is none; and that the
 * same came of the same call before, if so. */
static void result(const struct tool_use *use, struct record *record,
                   struct buf *observation)
{
    const struct attempt *attempt = use->attempt;
    const struct conversation *conversation = &attempt->conversation;
    name_call(use, record);
    if (record->failed)
        decide_refusal(call_of(use), use->ruling, &use->why, observation);
    else
        observation_of_value(observation, buf_view(&use->data));
    record->observation = buf_view(observation);
    struct terms terms = attempt_terms(attempt);
    if (decide_hint(conversation, conversation->result_count, &terms,
                    use->arguments, record))
        record->brake = BRAKED_HINT;
}

/* The activity is over with the last one. */
static void answer(struct tool_use *use)
{
    struct tool_uses *uses = use->uses;
    tool_use_free(use);
    if (!uses->first)
        activity_land(uses->activity);
}

static const struct tool_side side = { intend, result, answer };

/* ------------------------------------------------------------------ asking */

enum { CALLING, STATES };

struct tool_calls {
    struct activity activity;
    struct tool_uses uses;
};

static void begin_call(struct tool_calls *calls, const struct call *call)
{
    struct attempt *attempt = calls->activity.attempt;
    struct terms terms = attempt_terms(attempt);
    struct err err = { .kind = ERR_NONE };
    CLEANUP(buf_finish) struct buf arguments;
    struct tool_use *use = tool_use_new(&calls->uses, view_of(call->id), 0);
    use->arguments = call_arguments(call);
    use->ruling = decide_tool(&attempt->conversation, &terms, call, &use->tool,
                              &arguments, &err);
    /* A call that the brake forbids is checked all the same: what is wrong with
     * it is the better answer. */
    bool fits = use->ruling == RULING_RUN || use->ruling == RULING_FORBID;
    if (fits && !tool_use_prepare(use, buf_view(&arguments), &err))
        use->ruling = RULING_REFUSE;
    else if (use->ruling == RULING_FORBID)
        err_set(&err, ERR_REJECT, "loop", "it was done often enough");
    if (use->ruling != RULING_RUN)
        tool_use_fail(use, &err);
    else if (call->intended)
        tool_use_resume(use);
    else
        tool_use_begin(use);
}

static enum pace enter_calling(void *owner)
{
    struct tool_calls *calls = owner;
    const struct conversation *conversation =
        &calls->activity.attempt->conversation;
    const struct call *end = conversation->calls + conversation->call_count;
    for (const struct call *call = conversation_call(conversation);
         call < end && decide_is_tool(call); call++)
        if (!call->answered)
            begin_call(calls, call);
    return WAIT;
}

static enum pace step_called(void *owner)
{
    return activity_done(owner);
}

static void calls_free(struct activity *activity)
{
    struct tool_calls *calls = (struct tool_calls *)activity;
    tool_uses_drop(&calls->uses);
    free(calls);
}

static const struct machine_state states[STATES] = {
    [CALLING] = { "calling", 0, .enter = enter_calling, .landed = step_called,
                  .limit_ms = ACTIVITY_OTHERS_MS },
};
static const struct activity_kind kind = {
    .machine = { "tool calls", states, STATES, activity_entered, NULL },
    .resting = STATES,
    .free = calls_free,
};

void tool_calls_start(struct attempt *attempt)
{
    struct tool_calls *calls = calloc(1, sizeof(*calls));
    if (!calls)
        abort();
    calls->uses =
        (struct tool_uses){ .activity = &calls->activity, .side = &side };
    activity_init(&calls->activity, &kind, attempt);
}
