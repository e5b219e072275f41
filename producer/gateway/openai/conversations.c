/* conversations.c - /v1/conversations: conversations to which responses add,
 * and items that are added without one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/blob_writer.h"
#include "producer/gateway/openai/conversation_log.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/message_items.h"
#include "producer/gateway/responses/response_list.h"
#include "producer/gateway/responses/response_request.h"
#include "schemas/json/convert.h"
#include "schemas/message/conversation.h"
#include "schemas/redis/blob.h"
#include "schemas/redis/reply.h"

enum {
    MOST_METADATA_PAIRS = 16,
    METADATA_NAME = 64,
    METADATA_VALUE = 512,
    MOST_ITEMS = 20, /* of a request */
};

/* The state of a request. */
struct talk {
    struct conversation_log log;
    json_t *added;    /* messages of the request's items; owned; NULL: none */
    json_t *messages; /* of the head; owned */
    char removed[CONVERSATION_VALUE_BYTES - 64]; /* ":" and the places of items
                                                    that go; "": none */
    struct blob_writer writer;
    bool changes;        /* the request wants the next turn */
    bool needs_metadata; /* it is what the request changes */
    void (*found)(struct api_request *request);
    void (*known)(struct api_request *request);
};

static void talk_free(void *state)
{
    struct talk *talk = state;

    conversation_log_finish(&talk->log);
    json_decref(talk->added);
    json_decref(talk->messages);
    blob_writer_finish(&talk->writer);
    free(talk);
}

static struct talk *talk_new(struct api_request *request)
{
    struct talk *talk = calloc(1, sizeof(*talk));

    if (!talk)
        abort();
    request->state = talk;
    request->state_free = talk_free;
    request->conversation = &talk->log;
    return talk;
}

/* ----------------------------------------------------------------- the body */

static bool read_metadata(const struct body_value *body, json_t **metadata)
{
    struct body_value member;
    const char *name;
    json_t *value;

    if (!body_object(body, "metadata", &member))
        return false;
    *metadata = member.json ? json_incref(member.json) : json_object();
    if (json_object_size(*metadata) > MOST_METADATA_PAIRS)
        return body_refuse(&member, "invalid_value",
                           "has %zu pairs, at most %d",
                           json_object_size(*metadata), MOST_METADATA_PAIRS);
    json_object_foreach(*metadata, name, value) {
        if (strlen(name) > METADATA_NAME || !json_is_string(value) ||
            json_string_length(value) > METADATA_VALUE)
            return body_refuse(&member, "invalid_value",
                               "has \"%.64s\": a name may have %d bytes, and a "
                               "value must be a text of at most %d",
                               name, METADATA_NAME, METADATA_VALUE);
    }
    return true;
}

/* Items as messages: a request of the same input is read. NULL: refused. */
static json_t *read_items(json_t *items, struct body_error *error)
{
    static const struct response_request_options options;
    json_t *body = json_pack("{s:O}", "input", items), *messages = NULL;
    json_t *references = response_request_references(body, error);
    struct response_request asked = { 0 };
    struct body_value root = body_root(body, error);
    struct body_value input = body_member(&root, "input");

    if (json_array_size(references) > 0)
        body_refuse(&input, "unsupported_parameter",
                    "has an item_reference, which is not possible here");
    else if (references &&
             response_request_read(&asked, body, &options, error)) {
        if (asked.attachment_count > 0)
            body_refuse(&input, "unsupported_parameter",
                        "has a file, which is not possible here");
        else
            messages = json_incref(json_object_get(asked.job, "messages"));
    }
    response_request_finish(&asked);
    json_decref(references);
    json_decref(body);
    return messages;
}

/* "input[0].role" of the request that was read is "items[0].role" of this one.
 */
static void name_items(struct body_error *error)
{
    static const char read[] = "input", given[] = "items";
    const size_t len = sizeof(given) - 1;

    if (strncmp(error->param, read, len) == 0)
        memcpy(error->param, given, len);
    if (strncmp(error->message, read, len) == 0)
        memcpy(error->message, given, len);
}

/* False: refused. */
static bool talk_read_body(struct api_request *request,
                           const char *const *names)
{
    struct talk *talk = request->state;
    struct body_error error = { 0 };
    json_t *body = body_parse(request->body, &error);
    struct body_value root = body_root(body, &error);
    struct body_value list = body_member(&root, "items");
    json_t *items = list.json;
    bool good = body && body_check_names(&root, names) &&
                (!talk->needs_metadata || body_require(&root, "metadata")) &&
                read_metadata(&root, &talk->log.metadata);

    if (good && json_array_size(items) > MOST_ITEMS)
        good = body_refuse(&list, "invalid_value", "has %zu items, at most %d",
                           json_array_size(items), MOST_ITEMS);
    if (good && json_array_size(items) > 0 &&
        !(talk->added = read_items(items, &error))) {
        name_items(&error);
        good = false;
    }
    json_decref(body);
    if (!good)
        openai_refuse_body(request, &error);
    return good;
}

/* --------------------------------------------------------------- the answers
 */

static json_t *talk_json(const struct talk *talk)
{
    char id[CONVERSATION_ID_BYTES];

    conversation_log_id(id, &talk->log);
    return json_pack("{s:s, s:s, s:I, s:O}", "id", id, "object", "conversation",
                     "created_at", (json_int_t)talk->log.created_at, "metadata",
                     talk->log.metadata);
}

static void show_talk(struct api_request *request)
{
    api_request_json(request, 200, talk_json(request->state));
}

static struct view item_id(const json_t *items, size_t place)
{
    return body_string(json_object_get(json_array_get(items, place), "id"));
}

static json_t *talk_items(const struct talk *talk, const json_t *messages)
{
    const struct wire_job job = { .id = view_of(talk->log.uuid),
                                  .removed = talk->log.removed };

    return response_input_items(&job, messages);
}

/* ---------------------------------------------------------------- finding it
 */

static void on_found(struct api_request *request)
{
    struct talk *talk = request->state;

    if (talk->log.metadata)
        talk->found(request);
    else
        openai_refuse(request, 404, "not_found", "conversation_id",
                      "Conversation with id '%.*s' not found.",
                      VIEW_ARG(view_head(request->params[0], 64)));
}

static void find_talk(struct api_request *request,
                      void (*found)(struct api_request *request))
{
    struct talk *talk = talk_new(request);

    talk->found = found;
    conversation_log_find(request, &talk->log, request->params[0], on_found);
}

static void refuse_gone(struct api_request *request)
{
    openai_refuse(request, 400, "invalid_value", "conversation_id",
                  "the conversation's messages have expired");
}

static void on_messages(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct talk *talk = request->state;
    struct view bytes = reply_view(reply);
    struct kept_conversation kept;

    if (bytes.len > 0 && conversation_decode(&kept, bytes, &arena, NULL)) {
        json_t *all = json_from_value(kept.messages);

        talk->messages = response_without_instructions(all);
        json_decref(all);
        talk->known(request);
    } else {
        refuse_gone(request);
    }
}

static void on_head(struct api_request *request)
{
    const struct talk *talk = request->state;
    struct command command;
    struct key key;

    if (talk->log.busy && talk->changes) {
        openai_refuse(request, 400, "conversation_locked", "conversation_id",
                      "a response adds to the conversation just now");
        return;
    }
    if (talk->log.is_gone) {
        refuse_gone(request);
        return;
    }
    if (talk->log.blob[0] == '\0') {
        talk->known(request);
        return;
    }
    key = names_blob(&request->gateway->names, talk->log.partition,
                     view_of(talk->log.blob));
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, talk->log.partition, &command, on_messages);
    command_finish(&command);
}

/* Its messages, too. */
static void find_messages(struct api_request *request)
{
    conversation_log_head(request, on_head);
}

/* ------------------------------------------------- adding and removing items
 */

static void on_taken(struct api_request *request, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        conversation_log_keep(request, ((struct talk *)request->state)->known);
    else
        openai_refuse(request, 400, "conversation_locked", "conversation_id",
                      "something else was added to the conversation meanwhile");
}

static void take_turn(struct api_request *request, const char *sha256)
{
    const struct talk *talk = request->state;
    char value[CONVERSATION_VALUE_BYTES];

    snprintf(value, sizeof(value), "%s%s", sha256, talk->removed);
    conversation_log_take(request, view_of(value), on_taken);
}

static void on_kept_longer(struct api_request *request, const redisReply *reply)
{
    (void)reply;
    take_turn(request, ((struct talk *)request->state)->writer.sha256);
}

static void on_blob_written(struct api_request *request)
{
    const struct talk *talk = request->state;
    struct command command;

    blob_extend(&command, &request->gateway->names, talk->log.partition,
                view_of(talk->writer.sha256),
                request->gateway->settings.response_ttl_ms);
    api_request_call(request, talk->log.partition, &command, on_kept_longer);
    command_finish(&command);
}

/* A system message at the head would be taken for the instructions of a
 * response, which are not part of the conversation. */
static void name_head(json_t *messages)
{
    json_t *head = json_array_get(messages, 0);

    if (view_is(body_string(json_object_get(head, "role")), "system"))
        json_object_set_new(head, "role", json_string("developer"));
}

/* These messages are the next turn; then known. */
static void write_turn(struct api_request *request,
                       void (*known)(struct api_request *request))
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_CONVERSATION_BYTES };
    struct talk *talk = request->state;
    struct kept_conversation kept;
    struct err err;

    talk->known = known;
    name_head(talk->messages);
    if (json_array_size(talk->messages) == 0) {
        take_turn(request, "");
        return;
    }
    blob_writer_init(&talk->writer, request->gateway, talk->log.partition);
    if (!json_to_value(talk->messages, &kept.messages, &arena, &err) ||
        !message_encode(&schema_conversation, &kept, &bytes, &err) ||
        !blob_writer_add(&talk->writer, buf_view(&bytes), &err)) {
        api_request_refuse(request, &err);
        return;
    }
    blob_writer_send(request, &talk->writer, on_blob_written);
}

static void add_items(struct api_request *request,
                      void (*known)(struct api_request *request))
{
    struct talk *talk = request->state;

    if (!talk->messages)
        talk->messages = json_array();
    json_array_extend(talk->messages, talk->added);
    write_turn(request, known);
}

static void show_added(struct api_request *request)
{
    const struct talk *talk = request->state;
    json_t *all = talk_items(talk, talk->messages);
    json_t *added = talk_items(talk, talk->added);
    size_t from = json_array_size(all) - json_array_size(added);
    json_t *data = json_array();

    for (size_t i = from; i < json_array_size(all); i++)
        json_array_append(data, json_array_get(all, i));
    json_decref(all);
    json_decref(added);
    api_request_json(
        request, 200,
        json_pack("{s:s, s:o, s:O?, s:O?, s:b}", "object", "list", "data", data,
                  "first_id", json_object_get(json_array_get(data, 0), "id"),
                  "last_id",
                  json_object_get(
                      json_array_get(data, json_array_size(data) - 1), "id"),
                  "has_more", 0));
}

static void add_to_known(struct api_request *request)
{
    add_items(request, show_added);
}

static void add_to_found(struct api_request *request)
{
    static const char *const names[] = { "items", NULL };
    struct talk *talk = request->state;
    json_t *metadata = talk->log.metadata;

    talk->log.metadata = NULL; /* the body's comes there */
    if (talk_read_body(request, names)) {
        json_decref(talk->log.metadata);
        talk->log.metadata = metadata;
        talk->known = add_to_known;
        talk->changes = true;
        if (talk->added)
            find_messages(request);
        else
            openai_refuse(request, 400, "missing_required_parameter", "items",
                          "items is required: a list of 1 to 20 items");
    } else {
        json_decref(metadata);
    }
}

void conversations_add_items(struct api_request *request)
{
    find_talk(request, add_to_found);
}

/* ---------------------------------------------------------------- the others
 */

static void on_made(struct api_request *request)
{
    const struct talk *talk = request->state;

    if (talk->added)
        add_items(request, show_talk);
    else
        show_talk(request);
}

void conversations_create(struct api_request *request)
{
    static const char *const names[] = { "items", "metadata", NULL };
    unsigned int partition;
    struct talk *talk;
    struct err err;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    talk = talk_new(request);
    if (!talk_read_body(request, names))
        return;
    if (conversation_log_new(&talk->log, partition, &err))
        conversation_log_write(request, on_made);
    else
        api_request_refuse(request, &err);
}

void conversations_show(struct api_request *request)
{
    find_talk(request, show_talk);
}

static void update_found(struct api_request *request)
{
    static const char *const names[] = { "metadata", NULL };
    struct talk *talk = request->state;

    json_decref(talk->log.metadata);
    talk->log.metadata = NULL;
    talk->needs_metadata = true;
    if (talk_read_body(request, names))
        conversation_log_write(request, show_talk);
}

void conversations_update(struct api_request *request)
{
    find_talk(request, update_found);
}

static void on_deleted(struct api_request *request, const redisReply *reply)
{
    char id[CONVERSATION_ID_BYTES];

    (void)reply;
    conversation_log_id(id, request->conversation);
    api_request_json(request, 200,
                     json_pack("{s:s, s:s, s:b}", "id", id, "object",
                               "conversation.deleted", "deleted", 1));
}

/* Its responses stay. */
static void delete_found(struct api_request *request)
{
    const struct conversation_log *log = request->conversation;
    struct key key = names_conversation(&request->gateway->names,
                                        log->partition, view_of(log->uuid));
    struct command command;

    command_init(&command, "DEL");
    command_add(&command, key_view(&key));
    api_request_call(request, log->partition, &command, on_deleted);
    command_finish(&command);
}

void conversations_delete(struct api_request *request)
{
    find_talk(request, delete_found);
}

static void list_known(struct api_request *request)
{
    const struct talk *talk = request->state;

    json_t *items = talk_items(talk, talk->messages);

    openai_answer_page(request, items);
    json_decref(items);
}

static void list_found(struct api_request *request)
{
    ((struct talk *)request->state)->known = list_known;
    find_messages(request);
}

void conversations_list_items(struct api_request *request)
{
    find_talk(request, list_found);
}

/* The place of the item that the request names, or refuses: the items' count.
 */
static size_t find_item(struct api_request *request, const json_t *items)
{
    size_t count = json_array_size(items);

    for (size_t i = 0; i < count; i++)
        if (view_equal(item_id(items, i), request->params[1]))
            return i;
    openai_refuse(request, 404, "not_found", "item_id",
                  "Item with id '%.*s' not found.",
                  VIEW_ARG(view_head(request->params[1], 64)));
    return count;
}

static void show_known_item(struct api_request *request)
{
    const struct talk *talk = request->state;
    json_t *items = talk_items(talk, talk->messages);
    size_t place = find_item(request, items);

    if (place < json_array_size(items))
        api_request_json(request, 200,
                         json_incref(json_array_get(items, place)));
    json_decref(items);
}

static void item_found(struct api_request *request)
{
    ((struct talk *)request->state)->known = show_known_item;
    find_messages(request);
}

void conversations_show_item(struct api_request *request)
{
    find_talk(request, item_found);
}

static bool is_of_call(const json_t *item, const char *type,
                       const json_t *call_id)
{
    return view_is(body_string(json_object_get(item, "type")), type) &&
           json_equal(json_object_get(item, "call_id"), call_id);
}

/* Of a call of a function the place of its output, of an output that of its
 * call; of others, and when there is none, the item's own. */
static size_t find_partner(const json_t *items, size_t place)
{
    const json_t *item = json_array_get(items, place);
    const json_t *id = json_object_get(item, "call_id");

    if (is_of_call(item, "function_call", id))
        for (size_t i = place + 1; i < json_array_size(items); i++)
            if (is_of_call(json_array_get(items, i), "function_call_output",
                           id))
                return i;
    if (is_of_call(item, "function_call_output", id))
        for (size_t i = place; i-- > 0;)
            if (is_of_call(json_array_get(items, i), "function_call", id))
                return i;
    return place;
}

/* Notes the places that the items have no longer, as their ids have them. */
static void note_places(struct talk *talk, const json_t *items, size_t place)
{
    size_t partner = find_partner(items, place);
    size_t len = (size_t)snprintf(talk->removed, sizeof(talk->removed), ":%zu",
                                  response_item_place(item_id(items, place)));

    if (partner != place)
        snprintf(talk->removed + len, sizeof(talk->removed) - len, ",%zu",
                 response_item_place(item_id(items, partner)));
}

static void remove_known_item(struct api_request *request)
{
    struct talk *talk = request->state;
    const struct wire_job job = { .id = view_of(talk->log.uuid) };
    json_t *items = talk_items(talk, talk->messages), *rest;
    size_t place = find_item(request, items);

    if (place < json_array_size(items)) {
        note_places(talk, items, place);
        rest = response_without_item(&job, talk->messages, place);
        json_decref(talk->messages);
        talk->messages = rest;
        write_turn(request, show_talk);
    }
    json_decref(items);
}

static void remove_found(struct api_request *request)
{
    struct talk *talk = request->state;

    talk->known = remove_known_item;
    talk->changes = true;
    find_messages(request);
}

void conversations_remove_item(struct api_request *request)
{
    find_talk(request, remove_found);
}
