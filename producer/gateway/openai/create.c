/* create.c - POST /v1/responses: a job, and its response.
 *
 *   read --> files that stand in it become blobs
 *        --> the response before it, if it goes on --> what is asked is kept
 *        --> submit --> object (background) | stream | wait for the end
 *
 * What is asked is kept before the job is submitted, so that no job is without
 * it; when the submit fails, it expires by itself. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "producer/client/draft.h"
#include "producer/client/fleet.h"
#include "producer/gateway/body/inline_file.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/blob_memory.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/response_request.h"
#include "schemas/json/convert.h"
#include "schemas/message/limits.h"
#include "schemas/redis/reply.h"

enum { BLOB_TTL_SECONDS = 24 * 3600, BLOB_ROUNDS = 3 };

enum { CONTAINER_BYTES = 65 }; /* of its id, with a NUL */

/* The state of the request until the job stands. kept_response first, for
 * openai_show(). */
struct creation {
    struct kept_response kept;
    struct response_request asked;
    struct draft draft;
    char container[CONTAINER_BYTES];
    char previous[37]; /* the job of the response before; "": none */
    bool fresh, existed;
    struct quern_id id;
    /* The file that is being written. */
    size_t attachment;
    struct blob_memory memory;
    struct buf bytes;
    char sha256[65];
    unsigned int partition, rounds;
};

static void creation_free(void *state)
{
    struct creation *creation = state;

    kept_response_finish(&creation->kept);
    response_request_finish(&creation->asked);
    draft_finish(&creation->draft);
    buf_finish(&creation->bytes);
    blob_memory_give(&creation->memory);
    free(creation);
}

/* --------------------------------------------------------------- the answer */

static struct kept_response *take_kept(struct api_request *request)
{
    struct creation *creation = request->state;
    struct kept_response *kept = malloc(sizeof(*kept));

    if (!kept)
        abort();
    kept_response_init(kept, request->gateway, view_of(creation->kept.job),
                       json_incref(creation->kept.asked));
    return kept;
}

static void answer_created(struct api_request *request)
{
    struct creation *creation = request->state;
    const struct response_request *asked = &creation->asked;

    if (asked->stream)
        response_reader_stream(request, take_kept(request), -1,
                               asked->obfuscate, !asked->background);
    else if (asked->background)
        openai_show(request);
    else
        response_reader_wait(request);
}

static void on_submitted(struct api_request *request, const redisReply *reply,
                         const struct err *lost)
{
    struct creation *creation = request->state;
    struct err err;

    if (lost)
        err = *lost;
    if (reply && draft_submitted(reply, creation->fresh, &creation->id,
                                 &creation->existed, &err)) {
        json_t *asked = json_incref(creation->kept.asked);

        kept_response_finish(&creation->kept);
        kept_response_init(&creation->kept, request->gateway,
                           view_of(creation->id.text), asked);
        answer_created(request);
        return;
    }
    api_request_refuse(request, &err);
}

/* --------------------------------------------------------------- submitting */

static void submit_draft(struct api_request *request, const redisReply *reply)
{
    struct creation *creation = request->state;
    struct command command;

    (void)reply;
    draft_command(&command, &request->gateway->names, &creation->draft);
    api_request_ask(request, kept_response_partition(&creation->kept), &command,
                    on_submitted);
    command_finish(&command);
}

/* What the response object repeats, and what is needed to make it. */
static json_t *asked_json(const struct creation *creation)
{
    const struct response_request *asked = &creation->asked;

    return json_pack("{s:I, s:b, s:b, s:s, s:O}", "created_at",
                     (json_int_t)time(NULL), "background",
                     (int)asked->background, "with_outputs",
                     (int)asked->with_outputs, "container", creation->container,
                     "asked", asked->asked);
}

static void keep_asked(struct api_request *request)
{
    struct creation *creation = request->state;
    struct view id = view_of(creation->draft.id.text);
    struct key key = names_asked(&request->gateway->names, id);
    json_t *asked = asked_json(creation);
    CLEANUP(cleanup_free) char *text = json_dumps(asked, JSON_COMPACT);
    struct command command;

    kept_response_init(&creation->kept, request->gateway, id, asked);
    command_init(&command, "SET");
    command_add(&command, key_view(&key));
    command_add_text(&command, text);
    command_add_text(&command, "PX");
    command_add_uint(&command, request->gateway->settings.response_ttl_ms);
    api_request_call(request, kept_response_partition(&creation->kept),
                     &command, submit_draft);
    command_finish(&command);
}

/* A container is a session, which is made when the first cell runs. Without a
 * name the container goes on that the response before has used, else it is a
 * new one. */
static void choose_container(struct creation *creation)
{
    const struct response_request *asked = &creation->asked;
    unsigned char random[16];
    size_t len;

    if (!asked->wants_code)
        return;
    if (asked->container.len > 0)
        view_copy(creation->container, sizeof(creation->container),
                  asked->container);
    if (creation->container[0] == '\0') {
        if (getrandom(random, sizeof(random), 0) != sizeof(random))
            abort();
        len = (size_t)snprintf(creation->container, sizeof(creation->container),
                               "cntr_");
        for (size_t i = 0; i < sizeof(random); i++)
            len += (size_t)snprintf(creation->container + len,
                                    sizeof(creation->container) - len, "%02x",
                                    random[i]);
    }
    json_object_set_new(asked->job, "session",
                        json_string(creation->container));
    json_object_set_new(asked->job, "history", json_string("off"));
}

static void submit_job_of(struct api_request *request)
{
    static const struct quern_id none;
    struct creation *creation = request->state;
    const struct draft_finder finder = { fleet_links_find,
                                         request->gateway->links };
    CLEANUP(cleanup_free) char *key = NULL;
    json_t *job = creation->asked.job;
    struct err err;

    if (!api_request_key(request, &key))
        return;
    const struct quern_submit_options options = { .idempotency_key = key };
    if (creation->asked.container.len >= CONTAINER_BYTES) {
        openai_refuse(request, 400, "string_above_max_length", "tools",
                      "the id of the container has %zu bytes, at most %d are "
                      "possible",
                      creation->asked.container.len, CONTAINER_BYTES - 1);
        return;
    }
    choose_container(creation);
    json_object_set_new(job, "tenant", json_string(request->caller.tenant));
    if (!draft_read_object(&creation->draft, &finder, job, &options, &none,
                           &err)) {
        api_request_refuse(request, &err);
        return;
    }
    creation->id = creation->draft.id;
    creation->fresh = creation->draft.fresh;
    keep_asked(request);
}

/* ------------------------------------------------ the response before it */

static void refuse_fault(struct api_request *request,
                         const struct body_error *fault)
{
    openai_refuse(request, fault->status, fault->code,
                  *fault->param ? fault->param : NULL, "%s", fault->message);
}

static void refuse_previous(struct api_request *request, const char *why)
{
    const struct creation *creation = request->state;

    openai_refuse(request, 400, "previous_response_not_found",
                  "previous_response_id",
                  "Previous response with id '%.*s' %s.",
                  VIEW_ARG(view_head(creation->asked.previous, 64)), why);
}

static void on_earlier(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct creation *creation = request->state;
    struct view bytes = reply_view(reply);
    struct result result;
    struct body_error fault;
    json_t *messages;
    bool good;

    if (bytes.len == 0 ||
        !message_decode(&schema_result, bytes, &result, &arena, NULL) ||
        !result.messages) {
        refuse_previous(request, "has no conversation to go on with");
        return;
    }
    if (view_starts(result.session, "cntr_"))
        view_copy(creation->container, sizeof(creation->container),
                  result.session);
    messages = json_from_value(result.messages);
    good = response_request_continue(&creation->asked, messages, &fault);
    json_decref(messages);
    if (good)
        submit_job_of(request);
    else
        refuse_fault(request, &fault);
}

static void on_earlier_facts(struct api_request *request,
                             const redisReply *reply)
{
    const struct creation *creation = request->state;
    struct view job = view_of(creation->previous);
    struct key key = names_result(&request->gateway->names, job);
    unsigned int partition = 0;
    struct command command;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply_view(reply->element[0]).len == 0 ||
        !view_is(names_or_default(reply_view(reply->element[1])),
                 request->caller.tenant)) {
        refuse_previous(request, "not found");
        return;
    }
    id_parse(job, &partition);
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, partition, &command, on_earlier);
    command_finish(&command);
}

static void ask_earlier(struct api_request *request)
{
    struct creation *creation = request->state;
    unsigned int partition;
    struct command command;
    struct key key;

    if (!response_id_read(creation->asked.previous, creation->previous) ||
        !id_parse(view_of(creation->previous), &partition)) {
        refuse_previous(request, "not found");
        return;
    }
    key = names_job(&request->gateway->names, view_of(creation->previous));
    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "state");
    command_add_text(&command, "tenant");
    api_request_call(request, partition, &command, on_earlier_facts);
    command_finish(&command);
}

/* What the gateway cannot do yet, by name. */
static bool check_possible(struct api_request *request)
{
    const struct creation *creation = request->state;
    const struct response_request *asked = &creation->asked;

    for (size_t i = 0; i < asked->attachment_count; i++)
        if (asked->attachments[i].source != ATTACHMENT_BYTES) {
            openai_refuse(request, 400, "unsupported_parameter",
                          asked->attachments[i].param,
                          "%s is not possible here: send the file itself",
                          asked->attachments[i].param);
            return false;
        }
    if (asked->conversation.len > 0)
        openai_refuse(request, 400, "unsupported_parameter", "conversation",
                      "conversation is not possible here: use "
                      "previous_response_id");
    else
        return true;
    return false;
}

/* False: refused. */
static bool read_request(struct api_request *request, json_t *body,
                         struct body_error *fault)
{
    static const struct response_request_options options;
    struct creation *creation = request->state;
    json_t *references = response_request_references(body, fault);
    bool has_some = json_array_size(references) > 0;

    if (!references)
        return false;
    json_decref(references);
    if (!has_some)
        return response_request_read(&creation->asked, body, &options, fault);
    *fault = (struct body_error){ .status = 400,
                                  .code = "unsupported_parameter",
                                  .param = "input",
                                  .message = "item_reference is not possible "
                                             "here: use previous_response_id" };
    return false;
}

/* -------------------------------------------------------------------- files */

static void write_attachment(struct api_request *request);

static void on_extended(struct api_request *request, const redisReply *reply)
{
    struct creation *creation = request->state;

    (void)reply;
    response_request_attach(&creation->asked, creation->attachment++, VIEW(""),
                            view_of(creation->sha256), creation->bytes.len);
    buf_clear(&creation->bytes);
    blob_memory_give(&creation->memory);
    write_attachment(request);
}

static void blob_command(struct command *command,
                         const struct api_request *request, const char *verb)
{
    const struct creation *creation = request->state;
    struct key key = names_blob(&request->gateway->names, creation->partition,
                                view_of(creation->sha256));

    command_init(command, verb);
    command_add_copy(command, key_view(&key));
}

static void extend_blob(struct api_request *request)
{
    struct command command;

    blob_command(&command, request, "EXPIRE");
    command_add_uint(&command, BLOB_TTL_SECONDS);
    command_add_text(&command, "GT");
    api_request_call(request, ((struct creation *)request->state)->partition,
                     &command, on_extended);
    command_finish(&command);
}

static void set_blob(struct api_request *request, bool is_new);

static void on_written_again(struct api_request *request,
                             const redisReply *reply)
{
    struct creation *creation = request->state;
    struct err err;

    if (reply->type != REDIS_REPLY_NIL) {
        extend_blob(request);
    } else if (++creation->rounds < BLOB_ROUNDS) {
        set_blob(request, true);
    } else {
        err_set(&err, ERR_RETRY, "redis_unavailable",
                "the file was deleted %d times while it was written",
                BLOB_ROUNDS);
        api_request_refuse(request, &err);
    }
}

static void on_written(struct api_request *request, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_NIL)
        on_extended(request, reply);
    else
        set_blob(request, false);
}

/* As native/blobs.c writes them. */
static void set_blob(struct api_request *request, bool is_new)
{
    const struct creation *creation = request->state;
    struct command command;

    blob_command(&command, request, "SET");
    command_add(&command, buf_view(&creation->bytes));
    command_add_text(&command, is_new ? "NX" : "XX");
    command_add_text(&command, is_new ? "EX" : "KEEPTTL");
    if (is_new)
        command_add_uint(&command, BLOB_TTL_SECONDS);
    api_request_call(request, creation->partition, &command,
                     is_new ? on_written : on_written_again);
    command_finish(&command);
}

static void hash_bytes(struct creation *creation)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int len;

    if (!EVP_Digest(creation->bytes.data, creation->bytes.len, hash, &len,
                    EVP_sha256(), NULL))
        abort();
    for (size_t i = 0; i < len; i++)
        snprintf(creation->sha256 + 2 * i, 3, "%02x", hash[i]);
}

static void write_attachment(struct api_request *request)
{
    struct creation *creation = request->state;
    const struct response_attachment *one =
        &creation->asked.attachments[creation->attachment];
    struct err err;

    if (creation->attachment == creation->asked.attachment_count) {
        if (creation->asked.previous.len > 0)
            ask_earlier(request);
        else
            submit_job_of(request);
        return;
    }
    if (!blob_memory_take(&creation->memory, inline_file_length(one->value),
                          &err)) {
        api_request_refuse(request, &err);
        return;
    }
    inline_file_decode(one->value, &creation->bytes); /* it was checked */
    hash_bytes(creation);
    creation->rounds = 0;
    set_blob(request, true);
}

void responses_create(struct api_request *request)
{
    struct creation *creation;
    struct body_error fault;
    unsigned int partition;
    json_t *body;
    bool good;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    creation = calloc(1, sizeof(*creation));
    if (!creation)
        abort();
    creation->partition = partition;
    creation->memory.gateway = request->gateway;
    buf_init(&creation->bytes, MAX_FILE_BYTES);
    request->state = creation;
    request->state_free = creation_free;
    body = body_parse(request->body, &fault);
    good = body && read_request(request, body, &fault);
    json_decref(body);
    if (!good)
        refuse_fault(request, &fault);
    else if (check_possible(request))
        write_attachment(request);
}
