/* creation_earlier.c - POST /v1/responses: the response before it, or the
 * conversation, that goes on. */
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/openai/creation.h"
#include "producer/gateway/submits.h"
#include "schemas/json/convert.h"
#include "schemas/message/conversation.h"
#include "schemas/message/id.h"
#include "schemas/redis/reply.h"

static void refuse_previous(struct api_request *request, const char *why)
{
    const struct creation *creation = request->state;

    openai_refuse(request, 400, "previous_response_not_found",
                  "previous_response_id",
                  "Previous response with id '%.*s' %s.",
                  VIEW_ARG(view_head(creation->asked.previous, 64)), why);
}

static void go_on_from(struct api_request *request, const msgpack_object *value)
{
    struct creation *creation = request->state;
    json_t *messages = json_from_value(value);
    struct body_error fault;
    bool good = response_request_continue(
        &creation->asked, messages, view_of(creation->conversation), &fault);

    json_decref(messages);
    if (good)
        creation_submit(request);
    else
        openai_refuse_body(request, &fault);
}

static void on_conversation(struct api_request *request,
                            const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = reply_view(reply);
    struct kept_conversation kept;

    if (bytes.len > 0 && conversation_decode(&kept, bytes, &arena, NULL))
        go_on_from(request, kept.messages);
    else
        refuse_previous(request, "has no conversation to go on with");
}

/* A result that is not kept for others to go on from has the messages in
 * itself, as far as they fit. */
static void on_earlier(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct creation *creation = request->state;
    struct view bytes = reply_view(reply);
    struct result result;
    struct key key;

    if (bytes.len == 0 ||
        !message_decode(&schema_result, bytes, &result, &arena, NULL) ||
        (result.conversation.len == 0 && !result.messages)) {
        refuse_previous(request, "has no conversation to go on with");
        return;
    }
    if (view_starts(result.session, "cntr_"))
        view_copy(creation->container, sizeof(creation->container),
                  result.session);
    if (result.conversation.len == 0) {
        go_on_from(request, result.messages);
        return;
    }
    view_copy(creation->conversation, sizeof(creation->conversation),
              result.conversation);
    key = names_blob(&request->gateway->names, creation->partition,
                     view_of(creation->conversation));
    creation_ask(request, "GET", &key, on_conversation);
}

static void on_earlier_asked(struct api_request *request,
                             const redisReply *reply)
{
    const struct creation *creation = request->state;
    struct view previous = view_of(creation->previous);
    struct key key = names_result(&request->gateway->names, previous);
    struct kept_response asked;

    if (!kept_response_read(&asked, request, previous, reply_view(reply))) {
        refuse_previous(request, "not found");
        return;
    }
    kept_response_finish(&asked);
    creation_ask(request, "GET", &key, on_earlier);
}

static void on_earlier_facts(struct api_request *request,
                             const redisReply *reply)
{
    const struct creation *creation = request->state;
    struct key key =
        names_asked(&request->gateway->names, view_of(creation->previous));
    int state = creation_owns(request, reply)
                    ? job_state_of(reply_view(reply->element[0]))
                    : -1;

    if (!creation_owns(request, reply))
        refuse_previous(request, "not found");
    else if (!job_state_is_terminal(state))
        openai_refuse(request, 400, "response_in_progress",
                      "previous_response_id",
                      "Previous response with id '%.*s' is still in progress: "
                      "wait for its end.",
                      VIEW_ARG(view_head(creation->asked.previous, 64)));
    else
        creation_ask(request, "GET", &key, on_earlier_asked);
}

static void go_on_from_response(struct api_request *request)
{
    struct creation *creation = request->state;
    unsigned int partition;

    /* All jobs of a tenant are in one partition. */
    if (!response_id_read(creation->asked.previous, creation->previous) ||
        !id_parse(view_of(creation->previous), &partition) ||
        partition != creation->partition) {
        refuse_previous(request, "not found");
        return;
    }
    creation_ask_facts(request, view_of(creation->previous), on_earlier_facts);
}

/* ------------------------------------------------------------ a conversation
 */

static void refuse_gone(struct api_request *request)
{
    openai_refuse(request, 400, "invalid_value", "conversation",
                  "the conversation's messages have expired");
}

static void on_talk_messages(struct api_request *request,
                             const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = reply_view(reply);
    struct kept_conversation kept;

    if (bytes.len > 0 && conversation_decode(&kept, bytes, &arena, NULL))
        go_on_from(request, kept.messages);
    else
        refuse_gone(request);
}

static void refuse_locked(struct api_request *request, unsigned int status)
{
    openai_refuse(request, status, "conversation_locked", "conversation",
                  "another response adds to the conversation just now");
}

static void on_locked_standing(struct api_request *request,
                               const redisReply *reply)
{
    struct creation *creation = request->state;
    struct view id = reply_view(reply);

    if (!id_parse(id, NULL)) {
        /* The turn may be of this request's first time, whose job never came:
         * clients repeat what was answered by 409. */
        refuse_locked(request, 409);
        return;
    }
    view_copy(creation->id.text, sizeof(creation->id.text), id);
    creation_answer_standing(request);
}

void creation_answer_locked(struct api_request *request)
{
    const struct creation *creation = request->state;
    struct command command;

    if (!creation->key) {
        refuse_locked(request, 400);
        return;
    }
    submits_ask_standing(&command, request->gateway, creation->partition,
                         view_of(request->caller.tenant),
                         view_of(creation->key));
    api_request_call(request, creation->partition, &command,
                     on_locked_standing);
    command_finish(&command);
}

static void on_talk_head(struct api_request *request)
{
    struct creation *creation = request->state;
    const struct conversation_log *log = &creation->log;
    struct key key;

    if (log->busy) {
        creation_answer_locked(request);
        return;
    }
    if (log->is_gone) {
        refuse_gone(request);
        return;
    }
    if (log->container[0] != '\0')
        view_copy(creation->container, sizeof(creation->container),
                  view_of(log->container));
    if (log->blob[0] == '\0') {
        creation_submit(request);
        return;
    }
    view_copy(creation->conversation, sizeof(creation->conversation),
              view_of(log->blob));
    key = names_blob(&request->gateway->names, creation->partition,
                     view_of(log->blob));
    creation_ask(request, "GET", &key, on_talk_messages);
}

/* The first time of this request has taken the last turn already. */
static bool has_last_turn(const struct creation *creation)
{
    const struct conversation_log *log = &creation->log;

    return log->turns > 0 && creation->repeated.text[0] != '\0' &&
           strcmp(log->values[log->turns - 1], creation->repeated.text) == 0;
}

static void on_talk_found(struct api_request *request)
{
    struct creation *creation = request->state;

    creation->has_turn = has_last_turn(creation);
    if (creation->has_turn)
        creation->log.turns--;
    if (creation->log.metadata)
        conversation_log_head(request, on_talk_head);
    else
        openai_refuse(request, 400, "invalid_value", "conversation",
                      "Conversation with id '%.*s' not found.",
                      VIEW_ARG(view_head(creation->asked.conversation, 64)));
}

void creation_go_on(struct api_request *request)
{
    struct creation *creation = request->state;

    if (creation->asked.conversation.len > 0)
        conversation_log_find(request, &creation->log,
                              creation->asked.conversation, on_talk_found);
    else if (creation->asked.previous.len > 0)
        go_on_from_response(request);
    else
        creation_submit(request);
}
