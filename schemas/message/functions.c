/* functions.c - functions of the caller, and the messages that answer their
 * calls. */
#include "schemas/message/functions.h"

#include "schemas/message/limits.h"
#include "schemas/message/rule.h"

/* -------------------------------------------------------------- functions */

/* What all dialects take: no dot, other than in names of quern's own tools. */
static bool functions_name_is_valid(struct view name)
{
    if (name.len > MAX_FUNCTION_NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!name_has_byte(name.data[i]) || name.data[i] == '.')
            return false;
    return name.len > 0;
}

static bool functions_check_schema(const struct field_path *outer,
                                   const msgpack_object *parameters,
                                   struct err *err)
{
    const struct field_path place = { .outer = outer, .name = "parameters" };
    const struct field_path at = { .outer = &place, .name = "type" };
    const msgpack_object *type;

    if (!parameters)
        return true;
    if (parameters->type != MSGPACK_OBJECT_MAP)
        return fault(&place, err, "bad_field",
                     "must be a map: the JSON Schema of an object");
    type = value_member(parameters, "type");
    if (!type || view_is(value_view(type), "object"))
        return true;
    if (type->type != MSGPACK_OBJECT_STR)
        return fault(&at, err, "bad_field", "must be \"object\"");
    return fault(&at, err, "bad_field", "is \"%.*s\", must be \"object\"",
                 VIEW_ARG(view_head(value_view(type), 64)));
}

static bool functions_check_each(const struct job *job, struct err *err)
{
    const struct field_path list = { .name = "functions" };
    const struct job_function *functions = job->functions.items;

    for (size_t i = 0; i < job->functions.count; i++) {
        const struct field_path place = { .outer = &list, .index = i };
        const struct field_path name = { .outer = &place, .name = "name" };

        if (!functions_name_is_valid(functions[i].name))
            return fault(&name, err, "bad_field",
                         "is \"%.*s\", must be 1 to %d of A-Z a-z 0-9 _ -",
                         VIEW_ARG(view_head(functions[i].name, 64)),
                         MAX_FUNCTION_NAME_BYTES);
        for (size_t k = 0; k < i; k++)
            if (view_equal(functions[i].name, functions[k].name))
                return fault(&name, err, "bad_field",
                             "is \"%.*s\", as functions[%zu] is called",
                             VIEW_ARG(functions[i].name), k);
        if (!functions_check_schema(&place, functions[i].parameters, err))
            return false;
    }
    return true;
}

bool functions_check(const struct job *job, struct err *err)
{
    const struct {
        const char *name;
        bool given;
    } members[] = {
        { "functions", job->functions.count > 0 },
        { "tool_choice", job->tool_choice.len > 0 },
        { "limits.max_tool_calls", job->limits.max_tool_calls > 0 },
    };
    bool talks = job->kind == JOB_CONVERSATION && job->mode == MODE_TOOLS;
    const struct field_path choice = { .name = "tool_choice" };

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (members[i].given && !talks)
            return err_set(err, ERR_REJECT, "bad_field",
                           "%s: for kind conversation in mode tools only",
                           members[i].name);
    if (job->tool_choice.len > 0 && !name_is_valid(job->tool_choice))
        return fault(&choice, err, "bad_field",
                     "is \"%.*s\", must be auto, none, required or the name of "
                     "a function or a tool",
                     VIEW_ARG(view_head(job->tool_choice, 64)));
    return functions_check_each(job, err);
}

/* ---------------------------------------------------------------- answers */

/* The calls of the last assistant's message. */
struct functions_open {
    size_t message;              /* its index */
    const msgpack_object *calls; /* an array; NULL: it has none */
    bool answered[MAX_MESSAGE_CALLS];
};

/* Empty: there is no map or no such member, or it is no text. Bytes are no text
 * either: no request could say them. */
static struct view functions_text(const msgpack_object *map, const char *name)
{
    const msgpack_object *value = map ? value_member(map, name) : NULL;

    return value && value->type == MSGPACK_OBJECT_STR ? value_view(value)
                                                      : VIEW("");
}

static struct view functions_call_id(const msgpack_object *call)
{
    return functions_text(call, "id");
}

/* Takes the calls of a message, when it has some. */
static bool functions_open_calls(struct functions_open *open,
                                 const struct field_path *outer,
                                 const msgpack_object *message, struct err *err)
{
    const struct field_path list = { .outer = outer, .name = "tool_calls" };

    *open = (struct functions_open){ .message = outer->index };
    open->calls = value_member(message, "tool_calls");
    if (!open->calls)
        return true;
    if (open->calls->type != MSGPACK_OBJECT_ARRAY)
        return fault(&list, err, "bad_field", "must be an array of maps");
    if (open->calls->via.array.size > MAX_MESSAGE_CALLS)
        return fault(&list, err, "too_large", "has %u calls, at most %d",
                     (unsigned)open->calls->via.array.size, MAX_MESSAGE_CALLS);
    for (size_t i = 0; i < open->calls->via.array.size; i++) {
        const struct field_path place = { .outer = &list, .index = i };
        const struct field_path id = { .outer = &place, .name = "id" };
        const msgpack_object *call = &open->calls->via.array.ptr[i];

        if (call->type != MSGPACK_OBJECT_MAP)
            return fault(&place, err, "bad_field", "must be a map");
        if (functions_call_id(call).len == 0)
            return fault(&id, err, "missing_field",
                         "is required, and must be text");
    }
    return true;
}

/* Nothing may be open when another message begins, or at the end. */
static bool functions_close(const struct functions_open *open, struct err *err)
{
    for (size_t i = 0; open->calls && i < open->calls->via.array.size; i++) {
        const msgpack_object *call = &open->calls->via.array.ptr[i];
        const msgpack_object *function = value_member(call, "function");
        struct view name = view_head(functions_text(function, "name"), 64);

        if (!open->answered[i])
            return err_set(err, ERR_REJECT, "bad_field",
                           "messages[%zu].tool_calls[%zu]: no message answers "
                           "the call \"%.*s\" of %.*s",
                           open->message, i,
                           VIEW_ARG(view_head(functions_call_id(call), 64)),
                           VIEW_ARG(name.len > 0 ? name : VIEW("?")));
    }
    return true;
}

static bool functions_answer(struct functions_open *open,
                             const struct field_path *message,
                             const msgpack_object *answer, struct err *err)
{
    const struct field_path place = { .outer = message,
                                      .name = "tool_call_id" };
    const msgpack_object *value = value_member(answer, "tool_call_id");
    struct view id = functions_text(answer, "tool_call_id");

    if (id.len == 0)
        return fault(&place, err, value ? "bad_field" : "missing_field",
                     value ? "must be text" : "is required");
    for (size_t i = 0; open->calls && i < open->calls->via.array.size; i++) {
        const msgpack_object *call = &open->calls->via.array.ptr[i];

        if (open->answered[i] || !view_equal(functions_call_id(call), id))
            continue;
        open->answered[i] = true;
        return true;
    }
    return fault(&place, err, "bad_field",
                 "is \"%.*s\", which answers no open call of the assistant's "
                 "message before it",
                 VIEW_ARG(view_head(id, 64)));
}

bool functions_check_answers(const msgpack_object *messages, struct err *err)
{
    const struct field_path list = { .name = "messages" };
    struct functions_open open = { 0 };

    for (size_t i = 0; i < messages->via.array.size; i++) {
        const struct field_path place = { .outer = &list, .index = i };
        const msgpack_object *message = &messages->via.array.ptr[i];
        struct view role = value_view(value_member(message, "role"));
        bool assistant = view_is(role, "assistant");

        if (view_is(role, "tool") &&
            !functions_answer(&open, &place, message, err))
            return false;
        if (!assistant && !view_is(role, "user"))
            continue;
        if (!functions_close(&open, err))
            return false;
        open = (struct functions_open){ 0 };
        if (assistant && !functions_open_calls(&open, &place, message, err))
            return false;
    }
    return functions_close(&open, err);
}
