/* use_model.c - tools that the model calls itself.
 *
 * All calls of a reply up to the next one of Python are made at once: Python
 * has an order, other tools have none. */
#include <string.h>

#include "consumer/attempt/use.h"
#include "consumer/conversation/arguments.h"
#include "consumer/conversation/observation.h"
#include "consumer/conversation/prompt.h"
#include "consumer/conversation/tools.h"

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
    if (record->brake == BRAKED_FORBID)
        buf_add(observation, view_of(prompt_forbidden));
    else if (record->failed)
        buf_printf(observation, "Error: %s.", use->why.text);
    else
        observation_of_value(observation, buf_view(&use->data));
    record->observation = buf_view(observation);
    struct deed deed =
        brake_deed(brake_action(record->tool, use->arguments), record);
    if (record->brake == BRAKED_NOT &&
        brake_hints(conversation->deeds, conversation->result_count, &deed,
                    attempt->consumer->settings.repeats))
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

/* To the sentence that there is no such tool. False. */
static bool name_known(const struct attempt *attempt, struct err *err)
{
    CLEANUP(buf_finish) struct buf known;
    struct err said = *err;
    buf_init(&known, sizeof(said.text));
    tools_names(attempt->tools, &known);
    return err_set(err, ERR_REJECT, "unknown_tool", "%s; there is: %.*s",
                   said.text, VIEW_ARG(buf_view(&known)));
}

/* The only argument that the tool needs, when it is a text. */
static const char *only_text(const struct tool *tool)
{
    const json_t *parameters = json_object_get(tool->function, "parameters");
    const json_t *required = json_object_get(parameters, "required");
    const char *name = json_string_value(json_array_get(required, 0));
    const json_t *property =
        json_object_get(json_object_get(parameters, "properties"), name);
    const char *type = json_string_value(json_object_get(property, "type"));
    bool is_text = type != NULL && strcmp(type, "string") == 0;
    return json_array_size(required) == 1 && is_text ? name : NULL;
}

static bool prepare(struct use *use, const struct call *call, struct err *err)
{
    CLEANUP(buf_finish) struct buf arguments;
    buf_init(&arguments, MAX_RECORD_BYTES);
    use->tool = use_find(use->attempt, view_of(call->tool), err);
    if (use->tool == NULL)
        return name_known(use->attempt, err);
    return arguments_object(call->arguments, only_text(use->tool), &arguments,
                            err) &&
           use_prepare(use, buf_view(&arguments), err);
}

static void begin_call(struct attempt *attempt, const struct call *call)
{
    const struct conversation *conversation = &attempt->conversation;
    struct err err = { .kind = ERR_NONE };
    struct use *use = use_new(attempt, &side, view_of(call->id), 0);
    use->arguments = call->arguments;
    enum brake brake =
        brake_before(conversation->deeds, conversation->result_count,
                     brake_action(view_of(call->tool), call->arguments),
                     attempt->consumer->settings.repeats);
    if (!prepare(use, call, &err)) {
        use_fail(use, &err);
    } else if (call->intended) {
        use_resume(use);
    } else if (brake == BRAKE_FORBID) {
        use->brake = BRAKED_FORBID;
        err_set(&err, ERR_REJECT, "loop", "it was done often enough");
        use_fail(use, &err);
    } else {
        use_begin(use);
    }
}

bool use_is_of_model(const struct call *call)
{
    return !call->is_code && strcmp(call->tool, TOOL_PYTHON) != 0;
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
         call < end && use_is_of_model(call); call++)
        if (!call->answered)
            begin_call(attempt, call);
    return WAIT;
}
