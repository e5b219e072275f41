/* tool.c - something that a model, or the code of a cell, may call. */
#include "consumer/tools/tool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* --------------------------------------------------------------- arguments */

static bool is_of_type(const json_t *value, const char *type)
{
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(value);
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    if (strcmp(type, "object") == 0)
        return json_is_object(value);
    /* A type that JSON Schema does not know restricts nothing. */
    return strcmp(type, "null") != 0 || json_is_null(value);
}

/* Checks type (a name, or a list of them) and enum. The tool itself refuses
 * what violates any other rule of the schema. */
static bool fits(const json_t *value, const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    const json_t *allowed = json_object_get(schema, "enum");
    size_t i;
    json_t *one;
    bool good = !json_is_array(type);
    if (json_is_string(type) && !is_of_type(value, json_string_value(type)))
        return false;
    json_array_foreach(type, i, one)
        good |=
            json_is_string(one) && is_of_type(value, json_string_value(one));
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
    bool open =
        json_object_get(parameters, "additionalProperties") &&
        !json_is_false(json_object_get(parameters, "additionalProperties"));
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
        if (!schema && !open)
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
