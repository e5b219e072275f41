/* container_files.c - /v1/containers/{id}/files: what is in /mnt/data.
 *
 * The files are those of the session's record, which a consumer writes at the
 * end of each job, with a blob for each. An image that code has drawn is no
 * file there; it is found in the result of the job that drew it. Files are put
 * and removed by jobs, in their turn among the container's other jobs. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/file_answer.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/form_body.h"
#include "producer/gateway/openai/container_put.h"
#include "producer/gateway/openai/openai.h"
#include "schemas/message/id.h"
#include "schemas/redis/file.h"
#include "schemas/redis/reply.h"

/* The state of a request. container first, for container_find(). */
struct container_file_request {
    struct container container;
    void (*found)(struct api_request *request);
    /* The record of the session, decoded. */
    struct arena arena;
    struct buf bytes;
    struct session_record record;
    /* One that is looked for. */
    void (*given)(struct api_request *request, struct answered_file *file);
    const struct session_file *file; /* of the record; NULL: an image */
    redisReply *jobs;
    size_t at;
    /* One that is put or removed. */
    struct form_body form;
    struct container_put put;
    json_t *file_id; /* of an uploaded file that is put, in an array */
};

static void container_file_free(void *state)
{
    struct container_file_request *wanted = state;

    arena_finish(&wanted->arena);
    buf_finish(&wanted->bytes);
    if (wanted->jobs)
        freeReplyObject(wanted->jobs);
    form_finish(&wanted->form);
    container_put_finish(&wanted->put);
    json_decref(wanted->file_id);
    free(wanted);
}

static void on_container(struct api_request *request)
{
    const struct container_file_request *wanted = request->state;

    if (wanted->container.found)
        wanted->found(request);
    else
        openai_refuse(request, 404, "not_found", "container_id",
                      "Container with id '%.*s' not found.",
                      VIEW_ARG(view_head(request->params[0], 64)));
}

static void answer_changed(struct api_request *request);

static struct container_file_request *
file_request_new(struct api_request *request)
{
    struct container_file_request *wanted = calloc(1, sizeof(*wanted));

    if (!wanted)
        abort();
    wanted->put.container = &wanted->container;
    wanted->put.done = answer_changed;
    request->state = wanted;
    request->state_free = container_file_free;
    return wanted;
}

static void find_container(struct api_request *request,
                           void (*found)(struct api_request *request))
{
    struct container_file_request *wanted = request->state;

    wanted->found = found;
    container_find(request, &wanted->container, request->params[0],
                   on_container);
}

/* --------------------------------------------------------------- the record */

static void on_session_record(struct api_request *request,
                              const redisReply *reply)
{
    struct container_file_request *wanted = request->state;

    buf_init(&wanted->bytes, MAX_SESSION_BYTES);
    buf_add(&wanted->bytes, reply_view(reply));
    if (wanted->bytes.len == 0 ||
        !message_decode(&schema_session_record, buf_view(&wanted->bytes),
                        &wanted->record, &wanted->arena, NULL))
        wanted->record = (struct session_record){ .cells = 0 };
    wanted->found(request);
}

/* Then found, with what the session has; nothing has run in it: nothing. */
static void read_session(struct api_request *request,
                         void (*found)(struct api_request *request))
{
    struct container_file_request *wanted = request->state;
    struct key key = names_session(
        &request->gateway->names, wanted->container.partition,
        view_of(request->caller.tenant), view_of(wanted->container.id));
    struct command command;

    wanted->found = found;
    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "record");
    api_request_call(request, wanted->container.partition, &command,
                     on_session_record);
    command_finish(&command);
}

static json_t *file_json(const struct container_file_request *wanted,
                         const struct session_file *file)
{
    struct view path = file->name;
    CLEANUP(buf_finish) struct buf place = { .max = MAX_PATH_BYTES + 64 };
    char id[WIRE_FILE_ID_BYTES];

    wire_file_id(id, view_of(wanted->container.id), path);
    buf_printf(&place, "/mnt/data/%.*s", VIEW_ARG(path));
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s%, s:s}", "id", id, "object",
                     "container.file", "created_at",
                     (json_int_t)(wanted->record.updated_ms / 1000), "bytes",
                     (json_int_t)file->bytes, "container_id",
                     wanted->container.id, "path", place.data, place.len,
                     "source", file->given ? "user" : "assistant");
}

/* --------------------------------------------------------------------- list */

static void list_files(struct api_request *request)
{
    const struct container_file_request *wanted = request->state;
    const struct session_file *files = wanted->record.files.items;
    json_t *items = json_array();

    for (size_t i = 0; i < wanted->record.files.count; i++)
        if (files[i].blob.len > 0 && view_is_utf8(files[i].name))
            json_array_append_new(items, file_json(wanted, &files[i]));
    openai_answer_page(request, items);
    json_decref(items);
}

static void list_found(struct api_request *request)
{
    read_session(request, list_files);
}

void container_files_list(struct api_request *request)
{
    file_request_new(request);
    find_container(request, list_found);
}

/* ---------------------------------------------------------------------- one */

static void refuse_file(struct api_request *request)
{
    openai_refuse(request, 404, "not_found", "file_id",
                  "There is no file with the id '%.*s' in the container.",
                  VIEW_ARG(view_head(request->params[1], 64)));
}

static bool is_wanted(const struct api_request *request, struct view path)
{
    const struct container_file_request *wanted = request->state;
    char id[WIRE_FILE_ID_BYTES];

    wire_file_id(id, view_of(wanted->container.id), path);
    return view_is_utf8(path) && view_is(request->params[1], id);
}

/* Among what the job has left. */
static bool find_in_result(const struct api_request *request,
                           const struct result *result,
                           struct answered_file *file)
{
    const struct image_ref *images = result->images.items;
    const struct file_ref *files = result->files.items;

    for (size_t i = 0; i < result->images.count; i++)
        if (is_wanted(request, images[i].name)) {
            *file = (struct answered_file){ .blob = images[i].blob,
                                            .name = images[i].name,
                                            .mime = images[i].mime,
                                            .bytes = images[i].bytes,
                                            .active = images[i].active };
            return true;
        }
    for (size_t i = 0; i < result->files.count; i++)
        if (files[i].blob.len > 0 && is_wanted(request, files[i].name)) {
            *file = (struct answered_file){ .blob = files[i].blob,
                                            .name = files[i].name,
                                            .mime = files[i].mime,
                                            .bytes = files[i].bytes };
            return true;
        }
    return false;
}

static void ask_next_job(struct api_request *request);

static void on_job_result(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct container_file_request *wanted = request->state;
    struct view bytes = reply_view(reply);
    struct answered_file file;
    struct result result;

    if (bytes.len > 0 &&
        message_decode(&schema_result, bytes, &result, &arena, NULL) &&
        find_in_result(request, &result, &file)) {
        wanted->given(request, &file);
        return;
    }
    ask_next_job(request);
}

static void ask_next_job(struct api_request *request)
{
    struct container_file_request *wanted = request->state;
    struct command command;
    struct view job;
    struct key key;

    if (!wanted->jobs || wanted->jobs->type != REDIS_REPLY_ARRAY ||
        wanted->at == wanted->jobs->elements) {
        refuse_file(request);
        return;
    }
    job = reply_view(wanted->jobs->element[wanted->at++]);
    if (!id_parse(job, NULL)) {
        ask_next_job(request);
        return;
    }
    key = names_result(&request->gateway->names, job);
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, wanted->container.partition, &command,
                     on_job_result);
    command_finish(&command);
}

static void on_jobs(struct api_request *request, const redisReply *reply)
{
    struct container_file_request *wanted = request->state;

    (void)reply;
    wanted->jobs = fleet_links_keep_reply(request->gateway->links,
                                          wanted->container.partition);
    ask_next_job(request);
}

static void look_for_file(struct api_request *request)
{
    struct container_file_request *wanted = request->state;
    const struct session_file *files = wanted->record.files.items;
    struct key key =
        names_container(&request->gateway->names, wanted->container.partition,
                        "container_jobs", view_of(wanted->container.id));
    struct command command;

    for (size_t i = 0; i < wanted->record.files.count; i++)
        if (files[i].blob.len > 0 && is_wanted(request, files[i].name)) {
            struct answered_file file = { .blob = files[i].blob,
                                          .name = file_base_name(files[i].name),
                                          .mime = VIEW(""),
                                          .bytes = files[i].bytes };

            wanted->file = &files[i];
            wanted->given(request, &file);
            return;
        }
    command_init(&command, "LRANGE");
    command_add(&command, key_view(&key));
    command_add_text(&command, "0");
    command_add_text(&command, "-1");
    api_request_call(request, wanted->container.partition, &command, on_jobs);
    command_finish(&command);
}

static void one_found(struct api_request *request)
{
    read_session(request, look_for_file);
}

static void find_container_file(struct api_request *request,
                                void (*given)(struct api_request *request,
                                              struct answered_file *file))
{
    struct container_file_request *wanted = file_request_new(request);

    wanted->given = given;
    find_container(request, one_found);
}

static void show_file(struct api_request *request, struct answered_file *file)
{
    const struct container_file_request *wanted = request->state;
    const struct session_file image = { .name = file->name,
                                        .bytes = file->bytes };

    api_request_json(request, 200,
                     file_json(wanted, wanted->file ? wanted->file : &image));
}

void container_files_show(struct api_request *request)
{
    find_container_file(request, show_file);
}

static void give_content(struct api_request *request,
                         struct answered_file *file)
{
    const struct container_file_request *wanted = request->state;

    file->partition = wanted->container.partition;
    file_answer(request, file);
}

void container_files_content(struct api_request *request)
{
    find_container_file(request, give_content);
}

/* -------------------------------------------------------------- put, remove */

static void answer_changed(struct api_request *request)
{
    const struct container_file_request *wanted = request->state;
    const json_t *put = json_array_get(wanted->put.files, 0);
    const struct form_file *sent = &wanted->form.files[0];
    struct session_file file = { .name = sent->name,
                                 .bytes = sent->bytes,
                                 .given = true };

    if (put) {
        file.name = body_string(json_object_get(put, "name"));
        file.bytes =
            (uint64_t)json_integer_value(json_object_get(put, "bytes"));
    }

    if (request->route->method == HTTP_METHOD_DELETE)
        api_request_json(request, 200,
                         json_pack("{s:s%, s:s, s:b}", "id",
                                   request->params[1].data,
                                   request->params[1].len, "object",
                                   "container.file.deleted", "deleted", 1));
    else
        api_request_json(request, 200, file_json(wanted, &file));
}

static void on_put_blob(struct api_request *request)
{
    struct container_file_request *wanted = request->state;
    const struct form_file *file = &wanted->form.files[0];

    container_put_job(request, &wanted->put,
                      json_pack("{s:s, s:{s:s}, s:[{s:s%, s:s, s:I}]}", "kind",
                                "session", "action", "do", "put", "files",
                                "name", file->name.data, file->name.len, "blob",
                                file->writer.sha256, "bytes",
                                (json_int_t)file->bytes));
}

static void put_found(struct api_request *request)
{
    struct container_file_request *wanted = request->state;

    form_write(request, &wanted->form, on_put_blob);
}

/* The name itself, or that of a folder, begins with a dot. */
static bool put_is_hidden(struct view path)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.data[i] == '.' && (i == 0 || path.data[i - 1] == '/'))
            return true;
    return false;
}

static void on_put_form(struct api_request *request)
{
    const struct container_file_request *wanted = request->state;

    if (wanted->form.file_count != 1 ||
        !view_is(wanted->form.files[0].field, "file"))
        openai_refuse(request, 400, "missing_required_parameter", "file",
                      "file is required: a part of the form with a filename");
    else if (put_is_hidden(wanted->form.files[0].name))
        openai_refuse(request, 400, "invalid_value", "file",
                      "the filename is '%.*s': files whose names begin with a "
                      "dot are not listed, and so have no id",
                      VIEW_ARG(view_head(wanted->form.files[0].name, 64)));
    else
        find_container(request, put_found);
}

static void uploaded_found(struct api_request *request)
{
    struct container_file_request *wanted = request->state;

    container_put_uploaded(request, &wanted->put, wanted->file_id, "file_id");
}

/* {"file_id"}, instead of a form. */
static void put_uploaded(struct api_request *request)
{
    static const char *const names[] = { "file_id", NULL };
    struct container_file_request *wanted = request->state;
    struct body_error error = { 0 };
    struct view id = { "", 0 };
    json_t *json = body_parse(request->body, &error);
    struct body_value body = body_root(json, &error);
    bool good = json && body_check_names(&body, names) &&
                body_require(&body, "file_id") &&
                body_text(&body, "file_id", FILE_ID_BYTES, &id);

    if (good)
        wanted->file_id = json_pack("[O]", json_object_get(json, "file_id"));
    json_decref(json);
    if (good)
        find_container(request, uploaded_found);
    else
        openai_refuse_body(request, &error);
}

void container_files_create(struct api_request *request)
{
    struct container_file_request *wanted = file_request_new(request);
    unsigned int partition;

    if (request->body.len > 0) {
        put_uploaded(request);
        return;
    }
    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    form_init(&wanted->form, request->gateway, partition);
    form_receive(request, &wanted->form, on_put_form);
}

/* Only what is in the workspace can be removed; the path is no part of code. */
static void remove_file(struct api_request *request, struct answered_file *file)
{
    struct container_file_request *wanted = request->state;

    (void)file;
    if (!wanted->file) {
        refuse_file(request);
        return;
    }
    container_put_job(
        request, &wanted->put,
        json_pack("{s:s, s:[s], s:{s:s%}}", "kind", "code", "cells",
                  "import os; os.remove(os.environ['REMOVED'])", "env",
                  "REMOVED", wanted->file->name.data, wanted->file->name.len));
}

void container_files_delete(struct api_request *request)
{
    find_container_file(request, remove_file);
}
