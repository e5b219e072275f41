/* creation_references.c - POST /v1/responses: an item_reference of the input
 * becomes the item of an earlier response that it names.
 *
 *   first reference that is left --> its response, of the same tenant -->
 *   the items of it --> in the places of all references to them --> the next
 *
 * The id of an item has the response in it, and whether the response was given
 * the item or made it. */
#include <stdio.h>

#include "producer/client/fleet.h"
#include "producer/gateway/openai/creation.h"
#include "producer/gateway/responses/response_list.h"
#include "schemas/json/convert.h"
#include "schemas/message/conversation.h"
#include "schemas/message/id.h"
#include "schemas/redis/reply.h"

enum {
    MOST_REFERENCES = 64,
    REFERRED_BYTES = 4 << 20, /* all items as JSON: as long as a body may be */
};

/* ------------------------------------------------------------------ refusals
 */

static json_t *first_left(const struct creation *creation)
{
    return json_array_get(creation->references, 0);
}

static struct view first_id(const struct creation *creation)
{
    return body_string(json_object_get(first_left(creation), "id"));
}

/* The same words whether the item never was, is of another tenant, or has
 * expired. */
static void refuse_unknown(struct api_request *request)
{
    const struct creation *creation = request->state;
    json_t *index = json_object_get(first_left(creation), "index");
    char param[48];

    snprintf(param, sizeof(param), "input[%" JSON_INTEGER_FORMAT "].id",
             json_integer_value(index));
    openai_refuse(request, 400, "invalid_value", param,
                  "%s is \"%.*s\": there is no such item", param,
                  VIEW_ARG(view_head(first_id(creation), 64)));
}

/* --------------------------------------------------------------------- items
 */

static void look_at_next(struct api_request *request);

static json_t *find_item(const json_t *items, const json_t *id)
{
    json_t *item;
    size_t i;

    json_array_foreach(items, i, item)
        if (json_equal(json_object_get(item, "id"), id))
            return item;
    return NULL;
}

static void put_items(struct creation *creation, const json_t *items)
{
    json_t *input = json_object_get(creation->body, "input");
    size_t i = 0;

    while (i < json_array_size(creation->references)) {
        const json_t *one = json_array_get(creation->references, i);
        json_t *index = json_object_get(one, "index");
        json_t *item = find_item(items, json_object_get(one, "id"));

        if (!item) {
            i++;
            continue;
        }
        json_array_set(input, (size_t)json_integer_value(index), item);
        creation->referred_bytes += json_dumpb(item, NULL, 0, JSON_COMPACT);
        json_array_remove(creation->references, i);
    }
}

/* items: of the response, in which the first reference must be; taken. */
static void take_items(struct api_request *request, json_t *items)
{
    struct creation *creation = request->state;

    if (!find_item(items, json_object_get(first_left(creation), "id"))) {
        json_decref(items);
        refuse_unknown(request);
        return;
    }
    put_items(creation, items);
    json_decref(items);
    kept_response_finish(&creation->referred);
    if (creation->referred_bytes > REFERRED_BYTES)
        openai_refuse(request, 400, "invalid_value", "input",
                      "input: the items that it refers to have %zu bytes, more "
                      "than %d",
                      creation->referred_bytes, REFERRED_BYTES);
    else
        look_at_next(request);
}

/* ------------------------------------------------------ what Redis has of them
 */

static void on_result(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct creation *creation = request->state;
    struct view bytes = reply_view(reply);
    struct result result;

    if (bytes.len > 0 &&
        message_decode(&schema_result, bytes, &result, &arena, NULL))
        take_items(request, response_output(&creation->referred.wire, &result));
    else
        refuse_unknown(request);
}

static void on_earlier(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct creation *creation = request->state;
    struct view bytes = reply_view(reply);
    struct kept_conversation earlier;
    json_t *messages;

    if (bytes.len == 0 || !conversation_decode(&earlier, bytes, &arena, NULL)) {
        refuse_unknown(request); /* its place in the chain is not known */
        return;
    }
    messages = json_from_value(earlier.messages);
    take_items(request, kept_response_input(&creation->referred, messages));
    json_decref(messages);
}

static void find_input_item(struct api_request *request)
{
    const struct creation *creation = request->state;
    const struct kept_response *kept = &creation->referred;
    struct view blob = body_string(json_object_get(kept->asked, "earlier"));
    struct key key;

    if (blob.len == 0) {
        take_items(request, kept_response_input(kept, NULL));
        return;
    }
    key = names_blob(&request->gateway->names, creation->partition, blob);
    creation_ask(request, "GET", &key, on_earlier);
}

static void on_asked(struct api_request *request, const redisReply *reply)
{
    struct creation *creation = request->state;
    struct view id = view_of(creation->referred_job);
    struct key key = names_result(&request->gateway->names, id);

    if (!kept_response_read(&creation->referred, request, id,
                            reply_view(reply))) {
        refuse_unknown(request);
        return;
    }
    /* For the model, which must see what its code printed. */
    creation->referred.wire.with_outputs = true;
    if (response_item_is_input(first_id(creation)))
        find_input_item(request);
    else
        creation_ask(request, "GET", &key, on_result);
}

static void on_facts(struct api_request *request, const redisReply *reply)
{
    const struct creation *creation = request->state;
    struct key key =
        names_asked(&request->gateway->names, view_of(creation->referred_job));

    if (creation_owns(request, reply))
        creation_ask(request, "GET", &key, on_asked);
    else
        refuse_unknown(request);
}

static void look_at_next(struct api_request *request)
{
    struct creation *creation = request->state;
    unsigned int partition;

    if (json_array_size(creation->references) == 0)
        creation_read(request);
    else if (!response_item_job(first_id(creation), creation->referred_job) ||
             !id_parse(view_of(creation->referred_job), &partition) ||
             partition != creation->partition)
        refuse_unknown(request);
    else
        creation_ask_facts(request, view_of(creation->referred_job), on_facts);
}

void creation_refer(struct api_request *request)
{
    struct creation *creation = request->state;
    struct body_error fault;

    creation->references = response_request_references(creation->body, &fault);
    if (!creation->references)
        openai_refuse_body(request, &fault);
    else if (json_array_size(creation->references) > MOST_REFERENCES)
        openai_refuse(request, 400, "invalid_value", "input",
                      "input has %zu references to items, more than %d",
                      json_array_size(creation->references), MOST_REFERENCES);
    else
        look_at_next(request);
}
