/* message_items.c - messages of a conversation as items of the Responses API.
 */
#include "producer/gateway/responses/message_items.h"

#include "producer/gateway/responses/request_reader.h"
#include "schemas/message/buf.h"

#define WHOLE SIZE_MAX

/* Where an item stands in the messages. */
struct item_source {
    size_t message;
    size_t call; /* of the message's calls; WHOLE: it is none of them */
};

struct input_writer {
    const struct wire_job *job;
    json_t *items;
    json_t *skipped;           /* ids of calls whose answers are no items */
    struct item_source source; /* of the next item */
    struct item_source *found; /* of the item of that place; NULL: none is */
    size_t wanted;             /* wanted */
};

/* The place of the next item, as its id has it: places of items that were
 * removed are not given away again. */
static size_t next_place(const struct input_writer *writer)
{
    size_t place = json_array_size(writer->items), i;
    const json_t *removed;

    json_array_foreach(writer->job->removed, i, removed)
        if ((size_t)json_integer_value(removed) <= place)
            place++;
    return place;
}

/* Begins an item of that type; prefix: of its id. */
static json_t *input_item(struct input_writer *writer, const char *prefix,
                          const char *type)
{
    CLEANUP(buf_finish) struct buf id = { .max = 64 };
    json_t *item;

    buf_printf(&id, "%s", prefix);
    for (size_t i = 0; i < writer->job->id.len; i++)
        if (writer->job->id.data[i] != '-')
            buf_append(&id, &writer->job->id.data[i], 1);
    buf_printf(&id, "i%04zx", next_place(writer));
    if (writer->found && json_array_size(writer->items) == writer->wanted)
        *writer->found = writer->source;
    item = json_pack("{s:s%, s:s, s:s}", "id", id.data, id.len, "type", type,
                     "status", "completed");
    json_array_append_new(writer->items, item);
    return item;
}

static json_t *input_part(const json_t *part, bool is_answer)
{
    json_t *image = json_object_get(part, "image_url");
    json_t *text = json_object_get(part, "text");

    if (image)
        return json_pack("{s:s, s:O?, s:O?}", "type", "input_image",
                         "image_url", json_object_get(image, "url"), "detail",
                         json_object_get(image, "detail"));
    if (is_answer)
        return json_pack("{s:s, s:O?, s:[], s:[]}", "type", "output_text",
                         "text", text, "annotations", "logprobs");
    return json_pack("{s:s, s:O?}", "type", "input_text", "text", text);
}

static json_t *input_parts(json_t *content, bool is_answer)
{
    json_t *parts = json_array(), *part;
    size_t i;

    if (json_is_string(content)) {
        json_t *only = json_pack("{s:O}", "text", content);

        json_array_append_new(parts, input_part(only, is_answer));
        json_decref(only);
    }
    json_array_foreach(content, i, part)
        json_array_append_new(parts, input_part(part, is_answer));
    return parts;
}

static void input_add_message(struct input_writer *writer,
                              const json_t *message)
{
    json_t *role = json_object_get(message, "role");
    json_t *item, *content = json_object_get(message, "content");
    bool is_answer = view_is(body_string(role), "assistant");

    if (!content || json_is_null(content))
        return;
    item = input_item(writer, "msg_", "message");
    json_object_set(item, "role", role);
    json_object_set_new(item, "content", input_parts(content, is_answer));
}

static void input_add_python(struct input_writer *writer,
                             const json_t *function, json_t *id)
{
    struct view arguments = body_string(json_object_get(function, "arguments"));
    struct view container = writer->job->container;
    json_t *json = json_loadb(arguments.data ? arguments.data : "",
                              arguments.len, 0, NULL);
    json_t *item = input_item(writer, "ci_", "code_interpreter_call");

    json_object_set_new(
        item, "container_id",
        json_stringn(container.data ? container.data : "", container.len));
    json_object_set(item, "code", json_object_get(json, "code"));
    json_object_set_new(item, "outputs", json_null());
    json_array_append(writer->skipped, id);
    json_decref(json);
}

static void input_add_calls(struct input_writer *writer, const json_t *message)
{
    json_t *call, *item;
    size_t i;

    json_array_foreach(json_object_get(message, "tool_calls"), i, call) {
        json_t *function = json_object_get(call, "function");
        json_t *id = json_object_get(call, "id");

        writer->source.call = i;
        if (view_is(body_string(json_object_get(function, "name")),
                    REQUEST_PYTHON)) {
            input_add_python(writer, function, id);
            continue;
        }
        item = input_item(writer, "fc_", "function_call");
        json_object_set(item, "call_id", id);
        json_object_set(item, "name", json_object_get(function, "name"));
        json_object_set(item, "arguments",
                        json_object_get(function, "arguments"));
    }
}

static void input_add_output(struct input_writer *writer, const json_t *message)
{
    json_t *id = json_object_get(message, "tool_call_id"), *skipped, *item;
    json_t *content = json_object_get(message, "content");
    size_t i;

    json_array_foreach(writer->skipped, i, skipped)
        if (json_equal(id, skipped))
            return;
    item = input_item(writer, "fco_", "function_call_output");
    json_object_set(item, "call_id", id);
    json_object_set_new(item, "output",
                        json_is_string(content) ? json_incref(content)
                                                : input_parts(content, false));
}

json_t *response_without_instructions(const json_t *messages)
{
    json_t *rest = json_array(), *message;
    size_t i;

    json_array_foreach(messages, i, message) {
        const json_t *role = json_object_get(message, "role");

        if (i > 0 || !view_is(body_string(role), "system"))
            json_array_append(rest, message);
    }
    return rest;
}

/* Ends the writer, but for its items. */
static void write_items(struct input_writer *writer, const json_t *messages)
{
    json_t *message;
    size_t i;

    json_array_foreach(messages, i, message) {
        writer->source = (struct item_source){ i, WHOLE };
        if (view_is(body_string(json_object_get(message, "role")), "tool")) {
            input_add_output(writer, message);
            continue;
        }
        json_array_clear(writer->skipped);
        input_add_message(writer, message);
        input_add_calls(writer, message);
    }
    json_decref(writer->skipped);
}

json_t *response_input_items(const struct wire_job *job, const json_t *messages)
{
    struct input_writer writer = { .job = job,
                                   .items = json_array(),
                                   .skipped = json_array() };

    write_items(&writer, messages);
    return writer.items;
}

/* ------------------------------------------------------------------- removing
 */

static const json_t *calls_of(const json_t *messages, size_t message)
{
    return json_object_get(json_array_get(messages, message), "tool_calls");
}

/* Of an output: the message and the call that it answers. */
static bool find_call(const json_t *messages, struct item_source *source)
{
    const json_t *message = json_array_get(messages, source->message), *call;
    const json_t *id = json_object_get(message, "tool_call_id");
    size_t at = source->message, i;

    while (at > 0 &&
           view_is(body_string(json_object_get(message, "role")), "tool"))
        message = json_array_get(messages, --at);
    json_array_foreach(calls_of(messages, at), i, call)
        if (json_equal(json_object_get(call, "id"), id)) {
            *source = (struct item_source){ at, i };
            return true;
        }
    return false;
}

/* Outputs stand right behind the message with the calls. */
static void remove_output(json_t *messages, size_t at, const json_t *id)
{
    const json_t *message;

    for (; (message = json_array_get(messages, at)) &&
           view_is(body_string(json_object_get(message, "role")), "tool");
         at++)
        if (json_equal(json_object_get(message, "tool_call_id"), id)) {
            json_array_remove(messages, at);
            return;
        }
}

/* A message loses its content, or one of its calls; when nothing is left of it,
 * there is no message. */
static void remove_from_message(json_t *messages, struct item_source source)
{
    json_t *message = json_array_get(messages, source.message);
    json_t *calls = json_object_get(message, "tool_calls");
    json_t *content = json_object_get(message, "content");

    if (source.call != WHOLE)
        json_array_remove(calls, source.call);
    else
        json_object_del(message, "content");
    if (json_array_size(calls) == 0)
        json_object_del(message, "tool_calls");
    if (json_array_size(json_object_get(message, "tool_calls")) == 0 &&
        (source.call == WHOLE || !content || json_is_null(content)))
        json_array_remove(messages, source.message);
}

json_t *response_without_item(const struct wire_job *job,
                              const json_t *messages, size_t place)
{
    struct item_source source = { 0, WHOLE };
    struct input_writer writer = { .job = job,
                                   .items = json_array(),
                                   .skipped = json_array(),
                                   .found = &source,
                                   .wanted = place };
    json_t *rest = json_deep_copy(messages), *id = NULL;
    const json_t *message;

    write_items(&writer, messages);
    json_decref(writer.items);
    message = json_array_get(messages, source.message);
    if (view_is(body_string(json_object_get(message, "role")), "tool") &&
        !find_call(messages, &source)) {
        json_array_remove(rest, source.message);
        return rest;
    }
    if (source.call != WHOLE) {
        id = json_object_get(
            json_array_get(calls_of(messages, source.message), source.call),
            "id");
        remove_output(rest, source.message + 1, id);
    }
    remove_from_message(rest, source);
    return rest;
}
