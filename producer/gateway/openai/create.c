/* create.c - POST /v1/responses: a job, and its response. creation.h shows the
 * way of a request. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/body/inline_file.h"
#include "producer/gateway/link_secret.h"
#include "producer/gateway/openai/creation.h"
#include "producer/gateway/openai/left_jobs.h"
#include "schemas/message/id.h"
#include "schemas/redis/blob.h"
#include "schemas/redis/file.h"
#include "schemas/redis/reply.h"

static void creation_free(void *state)
{
    struct creation *creation = state;

    struct gateway *gateway = creation->gateway;

    if (creation->may_run && creation->asked.job && !creation->asked.background)
        left_jobs_add(gateway->left_jobs, view_of(creation->id.text),
                      &creation->repeat);
    if (creation->took_turn && !creation->is_sent)
        conversation_log_release(gateway, &creation->log);
    kept_response_finish(&creation->kept);
    chat_request_finish(&creation->chat);
    kept_response_finish(&creation->referred);
    json_decref(creation->references);
    json_decref(creation->body);
    response_request_finish(&creation->asked);
    conversation_log_finish(&creation->log);
    draft_finish(&creation->draft);
    buf_finish(&creation->asked_text);
    blob_writer_finish(&creation->file);
    model_look_finish(&creation->models);
    free(creation->key);
    free(creation);
}

void creation_ask(struct api_request *request, const char *verb,
                  const struct key *key, api_request_reply *done)
{
    const struct creation *creation = request->state;
    struct command command;

    command_init(&command, verb);
    command_add(&command, key_view(key));
    api_request_call(request, creation->partition, &command, done);
    command_finish(&command);
}

void creation_ask_facts(struct api_request *request, struct view job,
                        api_request_reply *done)
{
    const struct creation *creation = request->state;
    struct key key = names_job(&request->gateway->names, job);
    struct command command;

    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "state");
    command_add_text(&command, "tenant");
    api_request_call(request, creation->partition, &command, done);
    command_finish(&command);
}

bool creation_owns(const struct api_request *request, const redisReply *facts)
{
    return facts->type == REDIS_REPLY_ARRAY && facts->elements == 2 &&
           reply_view(facts->element[0]).len > 0 &&
           view_is(names_or_default(reply_view(facts->element[1])),
                   request->caller.tenant);
}

/* What the gateway cannot do yet, by name. */
static bool check_possible(struct api_request *request)
{
    const struct creation *creation = request->state;
    const struct response_request *asked = &creation->asked;

    for (size_t i = 0; i < asked->attachment_count; i++)
        if (asked->attachments[i].source == ATTACHMENT_URL) {
            openai_refuse(request, 400, "unsupported_parameter",
                          asked->attachments[i].param,
                          "%s is not possible here: send the file itself, or "
                          "upload it and send its file_id",
                          asked->attachments[i].param);
            return false;
        }
    if (asked->conversation.len > 0 && !asked->store)
        openai_refuse(request, 400, "invalid_value", "store",
                      "store is false: a response that is part of a "
                      "conversation must be stored");
    else
        return true;
    return false;
}

/* False: refused. */
static bool read_chat(struct creation *creation, json_t *body,
                      struct body_error *fault)
{
    static const struct response_request_options options;
    struct response_request *asked = &creation->asked;
    struct chat_request *chat = &creation->chat;

    if (!chat_request_read(chat, body, fault))
        return false;
    if (!response_request_read(asked, chat->body, &options, fault)) {
        chat_request_name_error(chat, fault);
        return false;
    }
    for (size_t i = 0; i < asked->attachment_count; i++)
        chat_request_name(chat, asked->attachments[i].param,
                          sizeof(asked->attachments[i].param));
    chat_request_apply(chat, asked->job);
    return true;
}

/* -------------------------------------------------------------------- files */

static void add_attachment(struct api_request *request);

static void refuse_file_id(struct api_request *request,
                           const struct response_attachment *one)
{
    openai_refuse(request, 400, "invalid_value", one->param,
                  "%s: there is no file with the id '%.*s'", one->param,
                  VIEW_ARG(view_head(one->value, 64)));
}

static void on_attachment_written(struct api_request *request)
{
    struct creation *creation = request->state;
    struct blob_writer *file = &creation->file;

    response_request_attach(&creation->asked, creation->attachment++, VIEW(""),
                            view_of(file->sha256), file->bytes.len);
    blob_writer_finish(file);
    add_attachment(request);
}

static void on_uploaded(struct api_request *request, const redisReply *reply)
{
    struct creation *creation = request->state;
    struct response_request *asked = &creation->asked;
    struct response_attachment *one = &asked->attachments[creation->attachment];
    struct file_record file;

    if (!file_read(reply, one->value, view_of(request->caller.tenant), &file)) {
        refuse_file_id(request, one);
        return;
    }
    one->mime = file.mime; /* for the call, which copies it */
    response_request_attach(asked, creation->attachment++,
                            file_base_name(file.name), file.blob, file.bytes);
    one->mime = VIEW("");
    add_attachment(request);
}

static void ask_uploaded(struct api_request *request,
                         const struct response_attachment *one)
{
    const struct creation *creation = request->state;
    struct command command;

    if (!file_id_is_valid(one->value)) {
        refuse_file_id(request, one);
        return;
    }
    file_ask(&command, &request->gateway->names, creation->partition,
             one->value);
    api_request_call(request, creation->partition, &command, on_uploaded);
    command_finish(&command);
}

static void write_attachment(struct api_request *request,
                             const struct response_attachment *one)
{
    struct creation *creation = request->state;
    struct blob_writer *file = &creation->file;
    struct err err;

    blob_writer_init(file, request->gateway, creation->partition);
    if (!blob_writer_reserve(file, inline_file_length(one->value), &err)) {
        api_request_refuse(request, &err);
        return;
    }
    inline_file_decode(one->value, &file->bytes); /* it was checked */
    blob_writer_send(request, file, on_attachment_written);
}

/* The next one, or what comes behind the last. */
static void add_attachment(struct api_request *request)
{
    const struct creation *creation = request->state;
    const struct response_request *asked = &creation->asked;

    if (creation->attachment < asked->attachment_count) {
        const struct response_attachment *one =
            &asked->attachments[creation->attachment];

        if (one->source == ATTACHMENT_FILE_ID)
            ask_uploaded(request, one);
        else
            write_attachment(request, one);
    } else {
        creation_go_on(request);
    }
}

/* ------------------------------------------------------------------- model */

static const char *asked_model(const struct creation *creation)
{
    return json_string_value(json_object_get(creation->asked.job, "model"));
}

/* In a thread. */
static void look_for_models(void *state, struct quern *quern)
{
    struct creation *creation = state;

    model_look_run(&creation->models, quern);
}

static void judge_model(struct api_request *request)
{
    const struct creation *creation = request->state;
    const char *name = asked_model(creation);

    if (model_list_has(request->gateway->models, name))
        add_attachment(request);
    else
        openai_refuse_model(request, name);
}

static void on_models(struct api_request *request)
{
    const struct creation *creation = request->state;
    struct gateway *gateway = request->gateway;

    if (creation->models.known) {
        model_list_take(gateway->models, &creation->models,
                        uv_now(gateway->loop));
        judge_model(request);
    } else {
        api_request_refuse_error(request, &creation->models.error);
    }
}

/* A model that is not on the list may have come since it was read. */
static void check_model(struct api_request *request)
{
    const struct creation *creation = request->state;
    struct gateway *gateway = request->gateway;
    const char *name = asked_model(creation);

    if (!name)
        add_attachment(request);
    else if (model_list_knows(gateway->models, name, uv_now(gateway->loop)))
        judge_model(request);
    else
        api_request_work(request, look_for_models, on_models);
}

void creation_read(struct api_request *request)
{
    static const struct response_request_options options;
    struct creation *creation = request->state;
    struct body_error fault;

    bool good = creation->is_chat
                    ? read_chat(creation, creation->body, &fault)
                    : response_request_read(&creation->asked, creation->body,
                                            &options, &fault);

    if (!good)
        openai_refuse_body(request, &fault);
    else if (creation->id.text[0] != '\0')
        creation_answer_standing(request);
    else if (check_possible(request))
        check_model(request);
}

/* The same request may be written in another way. */
static void note_sha256(struct creation *creation)
{
    CLEANUP(cleanup_free)
    char *text = json_dumps(creation->body, JSON_COMPACT | JSON_SORT_KEYS);
    struct sha256 hash = blob_sha256(view_of(text));

    memcpy(creation->sha256, hash.text, sizeof(creation->sha256));
}

static void begin_creation(struct api_request *request)
{
    struct creation *creation = request->state;
    struct body_error fault;

    creation->body = body_parse(request->body, &fault);
    if (creation->body && creation->key)
        note_sha256(creation);
    if (!creation->body)
        openai_refuse_body(request, &fault);
    else if (creation->is_chat)
        creation_read(request);
    else
        creation_refer(request);
}

static void on_repeated_state(struct api_request *request,
                              const redisReply *reply)
{
    struct creation *creation = request->state;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        creation->id = creation->repeated;
    begin_creation(request);
}

/* The job of the first time may stand, or may never have been submitted: then
 * it is now, under its id. */
static void on_repeated(struct api_request *request, const redisReply *reply)
{
    struct creation *creation = request->state;
    struct view id = reply_view(reply);
    unsigned int partition;
    struct key key;

    if (!id_parse(id, &partition) || partition != creation->partition) {
        begin_creation(request);
        return;
    }
    view_copy(creation->repeated.text, sizeof(creation->repeated.text), id);
    creation->repeat.is_noted = true;
    key = names_job(&request->gateway->names, view_of(creation->repeated.text));
    creation_ask(request, "EXISTS", &key, on_repeated_state);
}

static void on_signing(struct api_request *request)
{
    struct creation *creation = request->state;

    if (creation->repeat.count > 0 && *creation->repeat.sha256)
        repeat_take(request, &creation->repeat, on_repeated);
    else
        begin_creation(request);
}

void creation_begin(struct api_request *request, bool is_chat)
{
    struct creation *creation;
    unsigned int partition;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    creation = calloc(1, sizeof(*creation));
    if (!creation)
        abort();
    creation->gateway = request->gateway;
    creation->is_chat = is_chat;
    creation->partition = partition;
    creation->asked_text.max = SIZE_MAX;
    request->state = creation;
    request->state_free = creation_free;
    if (!api_request_key(request, &creation->key))
        return;
    repeat_read(&creation->repeat, request, partition);
    link_secret_load(request, on_signing);
}

void responses_create(struct api_request *request)
{
    creation_begin(request, false);
}
