/* input_items.c - GET /v1/responses/{id}/input_items: what a response was
 * given, with all that was said in the chain before it. */
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/message_items.h"
#include "schemas/json/convert.h"
#include "schemas/message/conversation.h"
#include "schemas/redis/reply.h"

json_t *kept_response_input(const struct kept_response *kept,
                            const json_t *earlier)
{
    json_t *messages = response_without_instructions(earlier), *items;

    json_array_extend(messages, json_object_get(kept->asked, "input"));
    items = response_input_items(&kept->wire, messages);
    json_decref(messages);
    return items;
}

/* earlier: as above. */
static void answer_items(struct api_request *request, const json_t *earlier)
{
    json_t *items = kept_response_input(request->state, earlier);

    openai_answer_page(request, items);
    json_decref(items);
}

static void on_earlier(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = reply_view(reply);
    struct kept_conversation earlier;
    json_t *messages = NULL;

    if (bytes.len > 0 && conversation_decode(&earlier, bytes, &arena, NULL))
        messages = json_from_value(earlier.messages);
    answer_items(request, messages);
    json_decref(messages);
}

static void on_found(struct api_request *request)
{
    const struct kept_response *kept = request->state;
    struct view blob = body_string(json_object_get(kept->asked, "earlier"));
    struct command command;
    struct key key;

    if (blob.len == 0) {
        answer_items(request, NULL);
        return;
    }
    key = names_blob(&request->gateway->names, kept_response_partition(kept),
                     blob);
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, kept_response_partition(kept), &command,
                     on_earlier);
    command_finish(&command);
}

void responses_input_items(struct api_request *request)
{
    openai_load(request, on_found);
}
