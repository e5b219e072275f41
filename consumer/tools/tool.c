/* tool.c - something that a model, or the code of a cell, may call: the tool,
 * the JSON Schema of its arguments, and one call of it. */
#include "consumer/tools/tool.h"

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"
#include "consumer/tools/tool_host.h"
#include "schemas/json/output_schema.h"
#include "schemas/service/alarm.h"

struct tool_call {
    struct tool_host *host;
    const struct tool *tool;
    struct caller caller;
    tool_done *done;
    void *owner;
    struct alarm *later;                  /* of tool_call_later(); or NULL */
    void (*step)(struct tool_call *call); /* when it rings */
    alignas(max_align_t) char state[];    /* the kind's, state_bytes long */
};

/* ------------------------------------------------------------------- tools */

void tool_init(struct tool *tool, const struct tool_kind *kind,
               const char *function)
{
    *tool = (struct tool){ .kind = kind, .repeat = true, .builtin = true };
    tool->function = json_loads(function, 0, NULL);
    const char *name =
        json_string_value(json_object_get(tool->function, "name"));
    assert(name);
    tool->name = view_dup(view_of(name));
}

void tool_finish(struct tool *tool)
{
    free(tool->name);
    json_decref(tool->function);
    *tool = (struct tool){ 0 };
}

void tool_hold(struct tool *tool)
{
    tool->holders++;
}

void tool_drop(struct tool *tool)
{
    if (--tool->holders == 0)
        tool->kind->free(tool);
}

/* -------------------------------------------------------------- parameters */

/* Whether there may be others than those that it names. */
static bool are_open(const json_t *parameters)
{
    const json_t *more = json_object_get(parameters, "additionalProperties");
    return more && !json_is_false(more);
}

bool parameters_have(const json_t *parameters, const char *name)
{
    const json_t *properties = json_object_get(parameters, "properties");
    return *name != '\0' &&
           (are_open(parameters) || json_object_get(properties, name));
}

static bool check_properties(const json_t *parameters, struct err *err)
{
    json_t *properties = json_object_get(parameters, "properties");
    const char *name;
    json_t *schema;
    if (properties && !json_is_object(properties))
        return entry_bad_value(err, "properties", properties, "an object");
    json_object_foreach(properties, name, schema)
        if (!json_is_object(schema) && !json_is_boolean(schema)) {
            char member[ENTRY_MOST_NAME + 1];
            snprintf(member, sizeof(member), "%s", name);
            return entry_bad_value(err, member, schema, "a JSON Schema");
        }
    return true;
}

static bool check_required(const json_t *parameters, struct err *err)
{
    static const char must[] = "a list of parameters";
    const json_t *required = json_object_get(parameters, "required");
    size_t i;
    json_t *name;
    if (required && !json_is_array(required))
        return entry_bad_value(err, "required", required, must);
    json_array_foreach(required, i, name) {
        if (!json_is_string(name))
            return entry_bad_value(err, "required", name, must);
        if (!parameters_have(parameters, json_string_value(name)))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "required: there is no parameter %.64s",
                           json_string_value(name));
    }
    return true;
}

bool parameters_check(const json_t *parameters, struct err *err)
{
    const json_t *type = json_object_get(parameters, "type");
    const char *word = json_string_value(type);
    if (!json_is_object(parameters))
        return entry_bad_value(err, "parameters", parameters, "a JSON Schema");
    bool good = !type || (word && strcmp(word, "object") == 0) ||
                entry_bad_value(err, "type", type, "object");
    return (good && check_properties(parameters, err) &&
            check_required(parameters, err)) ||
           err_prefix(err, "parameters");
}

/* --------------------------------------------------------------- arguments */

/* Checks type (a name, or a list of them) and enum. The tool itself refuses
 * what violates any other rule of the schema. */
static bool fits(const json_t *value, const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    const json_t *allowed = json_object_get(schema, "enum");
    size_t i;
    json_t *one;
    bool good = !json_is_array(type);
    if (json_is_string(type) &&
        !json_is_of_type(value, json_string_value(type)))
        return false;
    json_array_foreach(type, i, one)
        good |= json_is_string(one) &&
                json_is_of_type(value, json_string_value(one));
    if (!good || !json_is_array(allowed))
        return good;
    json_array_foreach(allowed, i, one)
        if (json_equal(one, value))
            return true;
    return false;
}

static bool tool_check(const struct tool *tool, const json_t *arguments,
                       struct err *err)
{
    const json_t *parameters = json_object_get(tool->function, "parameters");
    const json_t *properties = json_object_get(parameters, "properties");
    size_t i;
    const char *name;
    json_t *value;
    json_array_foreach(json_object_get(parameters, "required"), i, value)
        if (json_is_string(value) &&
            !json_object_get(arguments, json_string_value(value)))
            return err_set(err, ERR_REJECT, "bad_field",
                           "the argument \"%.64s\" is missing",
                           json_string_value(value));
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)arguments, name, value) {
        const json_t *schema = json_object_get(properties, name);
        if (!schema && !are_open(parameters))
            return err_set(err, ERR_REJECT, "bad_field",
                           "there is no argument \"%.64s\"", name);
        if (!fits(value, schema))
            return err_set(err, ERR_REJECT, "bad_field",
                           "the argument \"%.64s\" is not what the tool takes",
                           name);
    }
    return true;
}

json_t *tool_arguments(const struct tool *tool, struct view text,
                       struct err *err)
{
    json_t *object =
        json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(object);
    if (!good)
        err_set(err, ERR_REJECT, "bad_field",
                "the arguments are not a JSON object");
    if (good && tool_check(tool, object, err))
        return object;
    json_decref(object);
    return NULL;
}

/* -------------------------------------------------------------------- calls */

struct tool_call *tool_call_new(struct tool_host *host, const struct tool *tool,
                                const struct caller *caller,
                                struct view arguments, tool_done *done,
                                void *owner, struct err *err)
{
    json_t *given = tool_arguments(tool, arguments, err);
    if (!given)
        return NULL;
    struct tool_call *call = calloc(1, sizeof(*call) + tool->kind->state_bytes);
    if (!call)
        abort();
    call->host = host;
    call->tool = tool;
    call->caller = *caller;
    call->done = done;
    call->owner = owner;
    bool good = tool->kind->prepare(call, given, err);
    json_decref(given);
    if (good)
        return call;
    tool_call_free(call);
    return NULL;
}

void tool_call_start(struct tool_call *call)
{
    call->tool->kind->start(call);
}

void tool_call_free(struct tool_call *call)
{
    if (!call)
        return;
    call->tool->kind->finish(call);
    alarm_free(call->later);
    free(call);
}

struct tool_host *tool_call_host(const struct tool_call *call)
{
    return call->host;
}

const struct tool *tool_call_tool(const struct tool_call *call)
{
    return call->tool;
}

const struct caller *tool_call_caller(const struct tool_call *call)
{
    return &call->caller;
}

void *tool_call_state(struct tool_call *call)
{
    return call->state;
}

static void on_later(void *owner)
{
    struct tool_call *call = owner;
    call->step(call);
}

void tool_call_later(struct tool_call *call,
                     void (*step)(struct tool_call *call))
{
    call->step = step;
    call->later = alarm_new(call->host->loop, on_later, call);
    alarm_set(call->later, 0);
}

void tool_call_give(struct tool_call *call, struct view data)
{
    struct err why = { .kind = ERR_NONE };
    if (data.len > MAX_TOOL_DATA)
        err_set(&why, ERR_REJECT, "too_large",
                "the answer is too large to be kept");
    call->done(call->owner, data, &why);
}

void tool_call_fail(struct tool_call *call, const struct err *why)
{
    call->done(call->owner, (struct view){ 0 }, why);
}
