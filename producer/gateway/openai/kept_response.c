/* kept_response.c - a response as Redis has it: what was asked, the job's
 * facts, its result. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/link_secret.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/openai/openai.h"
#include "schemas/message/id.h"
#include "schemas/redis/reply.h"

/* ------------------------------------------------------------------ asked */

static uint64_t number_of(const json_t *json, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(json, name));
}

/* Of struct wire_links. */
static char *kept_response_url(const void *owner, enum wire_link_kind kind,
                               struct view name)
{
    const struct kept_response *kept = owner;
    char url[LINK_URL_BYTES];

    return file_link_write(kept->gateway, kept->link_base, view_of(kept->job),
                           kind == WIRE_LINK_IMAGE ? LINK_IMAGE : LINK_FILE,
                           name, url)
               ? view_dup(view_of(url))
               : NULL;
}

void kept_response_init(struct kept_response *kept,
                        const struct api_request *request, struct view job,
                        json_t *asked)
{
    const json_t *container = json_object_get(asked, "container");

    *kept =
        (struct kept_response){ .gateway = request->gateway, .asked = asked };
    file_link_base(request, kept->link_base);
    kept->is_chat = json_object_get(asked, "chat");
    kept->chat_usage =
        json_is_true(json_object_get(json_object_get(asked, "chat"), "usage"));
    view_copy(kept->job, sizeof(kept->job), job);
    kept->wire = (struct wire_job){
        .id = view_of(kept->job),
        .container = view_of(
            json_string_value(container) ? json_string_value(container) : ""),
        .background = json_is_true(json_object_get(asked, "background")),
        .with_outputs = kept->is_chat ||
                        json_is_true(json_object_get(asked, "with_outputs")),
        .for_chat = kept->is_chat,
        .links = { kept_response_url, kept },
        .asked = json_object_get(asked, "asked"),
        .created_at = number_of(asked, "created_at"),
    };
}

bool kept_response_is_stored(const json_t *asked)
{
    return json_is_object(json_object_get(asked, "asked"));
}

bool kept_response_read(struct kept_response *kept,
                        const struct api_request *request, struct view job,
                        struct view text)
{
    json_t *asked = json_loadb(text.data, text.len, 0, NULL);

    if (!kept_response_is_stored(asked)) {
        json_decref(asked);
        return false;
    }
    kept_response_init(kept, request, job, asked);
    return true;
}

void kept_response_finish(struct kept_response *kept)
{
    if (!kept)
        return;
    json_decref(kept->asked);
    kept->asked = NULL;
}

static int state_named(struct view name)
{
    int state = job_state_of(name);

    return state >= 0 ? state : STATE_IN_PROGRESS;
}

/* ---------------------------------------------------------------- loading */

/* The state of a request while it loads. */
struct response_load {
    struct kept_response kept; /* first */
    char id[RESPONSE_ID_BYTES];
    int state;        /* of the job, as it was found */
    struct view path; /* the id as the path has it */
    void (*found)(struct api_request *request);
};

static void load_free(void *state)
{
    kept_response_finish(state);
    free(state);
}

static void refuse_unknown(struct api_request *request)
{
    const struct response_load *load = request->state;

    openai_refuse(request, 404, "not_found", "response_id",
                  "Response with id '%.*s' not found.",
                  VIEW_ARG(view_head(load->path, 64)));
}

static void on_signing(struct api_request *request)
{
    const struct response_load *load = request->state;

    load->found(request);
}

static void on_asked(struct api_request *request, const redisReply *reply)
{
    struct response_load *load = request->state;
    char job[37];

    memcpy(job, load->kept.job, sizeof(job));
    if (!kept_response_read(&load->kept, request, view_of(job),
                            reply_view(reply))) {
        refuse_unknown(request);
        return;
    }
    load->kept.state = load->state;
    link_secret_load(request, on_signing);
}

static void on_tenant(struct api_request *request, const redisReply *reply)
{
    struct response_load *load = request->state;
    struct key key = names_asked(&request->gateway->names, //
                                 view_of(load->kept.job));
    struct command command;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply_view(reply->element[0]).len == 0 ||
        !api_request_may_see(request, reply_view(reply->element[1]))) {
        refuse_unknown(request);
        return;
    }
    load->state = state_named(reply_view(reply->element[0]));
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, api_job_partition(request), &command, on_asked);
    command_finish(&command);
}

void openai_load(struct api_request *request,
                 void (*found)(struct api_request *request))
{
    struct response_load *load = calloc(1, sizeof(*load));
    unsigned int partition, count;
    struct command command;
    struct key key;

    if (!load)
        abort();
    load->path = request->params[0];
    load->found = found;
    request->state = load;
    request->state_free = load_free;
    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &count))
        return;
    if (!response_id_read(load->path, load->kept.job) ||
        !id_parse(view_of(load->kept.job), &partition)) {
        refuse_unknown(request);
        return;
    }
    request->params[0] = view_of(load->kept.job);
    key = names_job(&request->gateway->names, request->params[0]);
    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "state");
    command_add_text(&command, "tenant");
    api_request_call(request, partition, &command, on_tenant);
    command_finish(&command);
}

/* ----------------------------------------------------------------- showing */

/* result: NULL: there is none. */
static json_t *kept_response_json(const struct kept_response *kept,
                                  const struct result *result)
{
    const struct response_state now = {
        .state = kept->state,
        .finished_at = kept->finished_at,
        .error_kind = VIEW("retry"),
        .error_code = view_of(kept->error_code),
        .error_message = VIEW("the result is not kept any more"),
    };

    return result ? response_of_result(&kept->wire, result, kept->finished_at)
                  : response_object(&kept->wire, &now);
}

void kept_response_take(struct kept_response *kept, const redisReply *facts)
{
    bool whole = facts->type == REDIS_REPLY_ARRAY && facts->elements == 3;

    if (!whole)
        return;
    kept->state = state_named(reply_view(facts->element[0]));
    kept->finished_at = reply_number(facts->element[1]);
    view_copy(kept->error_code, sizeof(kept->error_code),
              reply_view(facts->element[2]));
}

void kept_response_ask(const struct kept_response *kept,
                       struct command *command)
{
    struct key key = names_job(&kept->gateway->names, view_of(kept->job));

    command_init(command, "HMGET");
    command_add_copy(command, key_view(&key));
    command_add_text(command, "state");
    command_add_text(command, "finished_at");
    command_add_text(command, "error_code");
}

void kept_response_ask_result(const struct kept_response *kept,
                              struct command *command)
{
    struct key key = names_result(&kept->gateway->names, view_of(kept->job));

    command_init(command, "GET");
    command_add_copy(command, key_view(&key));
}

unsigned int kept_response_partition(const struct kept_response *kept)
{
    unsigned int partition = 0;

    id_parse(view_of(kept->job), &partition);
    return partition;
}

static void on_result(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct kept_response *kept = request->state;
    struct view bytes = reply_view(reply);
    struct result result;
    bool known = job_state_is_terminal(kept->state) && bytes.len > 0 &&
                 message_decode(&schema_result, bytes, &result, &arena, NULL);
    json_t *response = kept_response_json(kept, known ? &result : NULL);

    /* Not before: without an answer the client asks once more. */
    repeat_settle(&kept->repeat, kept->gateway, view_of(kept->job));
    if (!kept->is_chat) {
        api_request_json(request, 200, response);
        return;
    }
    chat_show(request, response, known ? &result : NULL);
    json_decref(response);
}

static void on_state(struct api_request *request, const redisReply *reply)
{
    struct kept_response *kept = request->state;
    struct command command;

    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
        reply_view(reply->element[0]).len == 0) {
        openai_refuse(request, 503, "job_lost", NULL,
                      "Redis has lost the job of the response: send the "
                      "request again");
        return;
    }
    kept_response_take(kept, reply);
    kept_response_ask_result(kept, &command);
    api_request_call(request, kept_response_partition(kept), &command,
                     on_result);
    command_finish(&command);
}

void openai_show(struct api_request *request)
{
    const struct kept_response *kept = request->state;
    struct command command;

    kept_response_ask(kept, &command);
    api_request_call(request, kept_response_partition(kept), &command,
                     on_state);
    command_finish(&command);
}

void openai_show_new(struct api_request *request)
{
    struct kept_response *kept = request->state;

    kept->state = STATE_QUEUED;
    api_request_json(request, 200, kept_response_json(kept, NULL));
}
