/* container_put.c - see container_put.h. */
#include "producer/gateway/openai/container_put.h"

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/submits.h"
#include "schemas/message/result.h"
#include "schemas/redis/file.h"
#include "schemas/redis/reply.h"

enum { PUT_MS = 60 * 1000 }; /* for the job */

void container_put_finish(struct container_put *put)
{
    draft_finish(&put->draft);
    job_follower_free(put->follower);
    json_decref(put->ids);
    json_decref(put->files);
}

/* ------------------------------------------------------------------ the job */

/* With the code of the job. A job that nobody has taken in time may be taken
 * the next time. */
static void refuse_put(struct api_request *request,
                       const struct result_error *error)
{
    bool is_late = view_is(error->code, "deadline_exceeded");
    struct err err;
    char code[sizeof(err.code)];

    view_copy(code, sizeof(code), error->code);
    err_set(&err,
            is_late || view_is(error->kind, "retry") ? ERR_RETRY : ERR_REJECT,
            code, "the container could not be changed: %.*s",
            VIEW_ARG(view_head(error->message, 200)));
    api_request_refuse(request, &err);
}

static void on_put_result(struct api_request *request, const redisReply *reply)
{
    static const struct result_error unknown = {
        .kind = VIEW_INIT("retry"),
        .code = VIEW_INIT("unknown_outcome"),
        .message = VIEW_INIT("its job has no result that can be read"),
    };
    static const struct result_error cancelled = {
        .kind = VIEW_INIT("reject"),
        .code = VIEW_INIT("cancelled"),
        .message = VIEW_INIT("its job was cancelled"),
    };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = reply_view(reply);
    struct result result;

    if (bytes.len == 0 ||
        !message_decode(&schema_result, bytes, &result, &arena, NULL))
        refuse_put(request, &unknown);
    else if (result.status == STATE_COMPLETED)
        request->put->done(request);
    else
        refuse_put(request, result.status == STATE_CANCELLED ? &cancelled
                                                             : &result.error);
}

static void ask_put_result(struct container_put *put)
{
    struct api_request *request = put->request;
    struct key key =
        names_result(&request->gateway->names, view_of(put->draft.id.text));
    struct command command;

    put->follower = NULL;
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, put->container->partition, &command,
                     on_put_result);
    command_finish(&command);
}

static void on_put_bytes(void *owner, struct view bytes, bool is_last)
{
    (void)bytes;
    if (is_last)
        ask_put_result(owner);
}

static void on_put_failed(void *owner, const struct err *why)
{
    (void)why; /* what is read next says it, too */
    ask_put_result(owner);
}

static const struct job_follower_events followed = {
    .on_bytes = on_put_bytes,
    .on_failed = on_put_failed,
};

static void on_put_submitted(struct api_request *request,
                             const redisReply *reply, const struct err *lost)
{
    struct container_put *put = request->put;
    struct err err = *lost;

    if (!reply ||
        !draft_submitted(reply, put->draft.fresh, &put->draft.id, NULL, &err))
        api_request_refuse(request, &err);
    else if (put->at_once)
        put->done(request);
    else
        put->follower =
            job_follower_new(request->gateway->followers,
                             view_of(put->draft.id.text), 0, &followed, put);
}

void container_put_job(struct api_request *request, struct container_put *put,
                       json_t *job)
{
    static const struct quern_id none;
    const struct draft_finder finder = { fleet_links_find,
                                         request->gateway->links };
    struct err err;
    bool good;

    request->put = put;
    put->request = request;
    json_object_set_new(job, "tenant", json_string(request->caller.tenant));
    json_object_set_new(job, "session", json_string(put->container->id));
    json_object_set_new(job, "priority", json_string("high"));
    json_object_set_new(job, "limits",
                        json_pack("{s:i}", "deadline_ms", (int)PUT_MS));
    good = draft_read_object(&put->draft, &finder, job, NULL, &none, &err);
    json_decref(job);
    if (!good) {
        api_request_refuse(request, &err);
        return;
    }
    container_touch(request->gateway, put->container, request->caller.tenant,
                    VIEW(""));
    submits_add(request, &put->draft, on_put_submitted);
}

/* ----------------------------------------------------------- uploaded files */

static void look_up_next(struct api_request *request);

static void refuse_uploaded(struct api_request *request, const char *id)
{
    openai_refuse(request, 404, "not_found", request->put->param,
                  "%s: there is no file with the id '%.64s'",
                  request->put->param, id);
}

static const char *next_id(const struct container_put *put)
{
    size_t at = json_array_size(put->files);

    return json_string_value(json_array_get(put->ids, at));
}

static void on_uploaded(struct api_request *request, const redisReply *reply)
{
    const struct container_put *put = request->put;
    const char *id = next_id(put);
    struct file_record file;
    struct view name;

    if (!file_read(reply, view_of(id), view_of(request->caller.tenant),
                   &file)) {
        refuse_uploaded(request, id);
        return;
    }
    name = file_base_name(file.name);
    json_array_append_new(
        put->files, json_pack("{s:s%, s:s%, s:I}", "name", name.data, name.len,
                              "blob", file.blob.data, file.blob.len, "bytes",
                              (json_int_t)file.bytes));
    look_up_next(request);
}

static void look_up_next(struct api_request *request)
{
    struct container_put *put = request->put;
    const char *id = next_id(put);
    struct command command;

    if (!id) {
        container_put_job(request, put,
                          json_pack("{s:s, s:{s:s}, s:O}", "kind", "session",
                                    "action", "do", "put", "files",
                                    put->files));
        return;
    }
    if (!file_id_is_valid(view_of(id))) {
        refuse_uploaded(request, id);
        return;
    }
    file_ask(&command, &request->gateway->names, put->container->partition,
             view_of(id));
    api_request_call(request, put->container->partition, &command, on_uploaded);
    command_finish(&command);
}

void container_put_uploaded(struct api_request *request,
                            struct container_put *put, const json_t *ids,
                            const char *param)
{
    request->put = put;
    put->ids = json_deep_copy(ids);
    put->files = json_array();
    put->param = param;
    look_up_next(request);
}
