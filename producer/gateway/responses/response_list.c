/* response_list.c - lists of the Responses API, and what else it answers beside
 * responses. */
#include "producer/gateway/responses/response_list.h"

#include <stdio.h>
#include <string.h>

#include "producer/gateway/responses/request_reader.h"
#include "producer/gateway/responses/response_object.h"
#include "schemas/message/buf.h"

/* --------------------------------------------------------------------- pages
 */

static bool page_refuse(struct body_error *error, const char *param,
                        struct view value, const char *expected)
{
    const struct body_value query = { .error = error };
    const struct body_value member = { .outer = &query,
                                       .name = param,
                                       .error = error };

    return body_refuse(&member, "invalid_value", "is \"%.*s\", must be %s",
                       VIEW_ARG(view_head(value, 64)), expected);
}

bool response_page_read(struct response_page *page, struct view limit,
                        struct view order, struct view after,
                        struct body_error *error)
{
    size_t number = 0;
    bool good = limit.len <= 3;

    *page = (struct response_page){ .limit = RESPONSE_LIST_NORMAL,
                                    .ascending = view_is(order, "asc"),
                                    .after = after };
    for (size_t i = 0; good && i < limit.len; i++) {
        good = limit.data[i] >= '0' && limit.data[i] <= '9';
        number = 10 * number + (size_t)(limit.data[i] - '0');
    }
    if (limit.len > 0)
        page->limit = number;
    if (!good || page->limit == 0 || page->limit > RESPONSE_LIST_MOST)
        return page_refuse(error, "limit", limit, "a number from 1 to 100");
    if (order.len > 0 && !page->ascending && !view_is(order, "desc"))
        return page_refuse(error, "order", order, "asc or desc");
    return true;
}

/* The item of that number in the order of the page. */
static json_t *list_item(const json_t *items, const struct response_page *page,
                         size_t number)
{
    size_t count = json_array_size(items);

    return json_array_get(items, page->ascending ? number : count - 1 - number);
}

static struct view list_id(const json_t *items,
                           const struct response_page *page, size_t number)
{
    return body_string(json_object_get(list_item(items, page, number), "id"));
}

json_t *response_list(const json_t *items, const struct response_page *page,
                      struct body_error *error)
{
    size_t count = json_array_size(items), from = 0;
    json_t *data = json_array(), *list;

    while (page->after.len > 0 && from < count &&
           !view_equal(list_id(items, page, from), page->after))
        from++;
    if (page->after.len > 0 && from++ == count) {
        json_decref(data);
        page_refuse(error, "after", page->after, "the id of an item");
        return NULL;
    }
    for (size_t i = from; i < count && i - from < page->limit; i++)
        json_array_append(data, list_item(items, page, i));
    list = json_pack("{s:s, s:O, s:n, s:n, s:b}", "object", "list", "data",
                     data, "first_id", "last_id", "has_more",
                     (int)(count - from > page->limit));
    if (json_array_size(data) > 0) {
        json_object_set(list, "first_id",
                        json_object_get(json_array_get(data, 0), "id"));
        json_object_set(
            list, "last_id",
            json_object_get(json_array_get(data, json_array_size(data) - 1),
                            "id"));
    }
    json_decref(data);
    return list;
}

/* --------------------------------------------------------------------- items
 */

struct input_writer {
    const struct wire_job *job;
    json_t *items;
    json_t *skipped; /* ids of calls whose answers are no items */
};

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
    buf_printf(&id, "i%04zx", json_array_size(writer->items));
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

    if (!content)
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

json_t *response_input_items(const struct wire_job *job, const json_t *messages)
{
    struct input_writer writer = { job, json_array(), json_array() };
    json_t *message;
    size_t i;

    json_array_foreach(messages, i, message) {
        if (view_is(body_string(json_object_get(message, "role")), "tool")) {
            input_add_output(&writer, message);
            continue;
        }
        json_array_clear(writer.skipped);
        input_add_message(&writer, message);
        input_add_calls(&writer, message);
    }
    json_decref(writer.skipped);
    return writer.items;
}

/* ------------------------------------------------------------------ the rest
 */

/* Where the digits of the job begin; 0: it is no id of an item. */
static size_t item_id_digits(struct view id)
{
    static const char *const prefixes[] = { "msg_", "rs_", "fc_", "fco_",
                                            "ci_",  "ws_", NULL };

    for (const char *const *prefix = prefixes; *prefix; prefix++)
        if (view_starts(id, *prefix))
            return strlen(*prefix);
    return 0;
}

bool response_item_is_input(struct view id)
{
    size_t place = item_id_digits(id) + 32;

    return id.len > place && id.data[place] == 'i';
}

bool response_item_job(struct view id, char job[37])
{
    char response[RESPONSE_ID_BYTES];
    size_t skip = item_id_digits(id);

    if (skip == 0 || id.len < skip + 32 + 4)
        return false;
    snprintf(response, sizeof(response), "resp_%.32s", id.data + skip);
    return response_id_read(view_of(response), job);
}

json_t *response_deleted(struct view job)
{
    char id[RESPONSE_ID_BYTES];

    response_id_write(id, job);
    return json_pack("{s:s, s:s, s:b}", "id", id, "object", "response",
                     "deleted", 1);
}
