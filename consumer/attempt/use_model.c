/* use_model.c - tools that the model calls itself.
 *
 * All calls of a reply up to the next one of Python are made at once: Python
 * has an order, other tools have none. */
#include <string.h>

#include "consumer/attempt/use.h"
#include "consumer/conversation/observation.h"

enum { EVENT_ARGUMENTS_BYTES = 4 << 10 };

static const struct call *call_of(const struct use *use)
{
    return conversation_find(&use->attempt->conversation, view_of(use->call));
}

static void name_call(const struct use *use, struct record *record)
{
    const struct call *call = call_of(use);
    record->call_id = view_head(view_of(call->call_id), MAX_NAME_BYTES);
    record->tool = view_head(view_of(call->tool), MAX_NAME_BYTES);
}

static void intend(const struct use *use, struct record *record,
                   struct event_data *data)
{
    name_call(use, record);
    record->arguments = use->arguments;
    data->text = view_head(use->arguments, EVENT_ARGUMENTS_BYTES);
}

/* A sentence, or the value; and that it has been there before. */
static void result(const struct use *use, struct record *record,
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

static bool is_model_busy(const struct attempt *attempt)
{
    for (const struct use *use = attempt->uses; use; use = use->next)
        if (use->number == 0)
            return true;
    return false;
}

static void answer(struct use *use)
{
    struct attempt *attempt = use->attempt;
    use_free(use);
    if (is_model_busy(attempt))
        return;
    attempt->landed = true;
    attempt_run(attempt);
}

static const struct use_side side = { intend, result, answer };

/* ------------------------------------------------------------------ asking */

static void begin_call(struct attempt *attempt, const struct call *call)
{
    struct terms terms = attempt_terms(attempt);
    struct err err = { .kind = ERR_NONE };
    CLEANUP(buf_finish) struct buf arguments;
    struct use *use = use_new(attempt, &side, view_of(call->id), 0);
    use->arguments = call_arguments(call);
    use->ruling = decide_tool(&attempt->conversation, &terms, call, &use->tool,
                              &arguments, &err);
    bool fits = use->ruling == RULING_RUN || use->ruling == RULING_FORBID;
    if (fits && !use_prepare(use, buf_view(&arguments), &err))
        use->ruling = RULING_REFUSE;
    else if (use->ruling == RULING_FORBID)
        err_set(&err, ERR_REJECT, "loop", "it was done often enough");
    if (use->ruling != RULING_RUN)
        use_fail(use, &err);
    else if (call->intended)
        use_resume(use);
    else
        use_begin(use);
}

enum turn step_gathering(struct attempt *attempt)
{
    const struct conversation *conversation = &attempt->conversation;
    const struct call *end = conversation->calls + conversation->call_count;
    if (attempt->landed)
        return attempt_go(attempt, DECIDING);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    for (const struct call *call = conversation_call(conversation);
         call < end && decide_is_tool(call); call++)
        if (!call->answered)
            begin_call(attempt, call);
    return WAIT;
}
