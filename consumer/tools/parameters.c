/* parameters.c - the JSON Schema of a tool's arguments. */
#include "consumer/tools/parameters.h"

#include <stdio.h>
#include <string.h>

#include "consumer/model/entry.h"

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
