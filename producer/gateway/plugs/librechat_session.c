/* librechat_session.c - the files of one upload, or of one run.
 *
 *   id of an upload --> the records behind it, as far as they are of it
 *   id of a run     --> its job, of the same tenant --> its result
 */
#include "producer/gateway/plugs/librechat_session.h"

#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/code_run.h"
#include "schemas/json/convert.h"
#include "schemas/message/result.h"
#include "schemas/redis/reply.h"

/* ------------------------------------------------------------------ uploads */

static void on_records(struct api_request *request, const redisReply *reply)
{
    struct librechat_session *session = request->state;
    struct view first = view_of(session->record);
    struct file_record record;
    struct err err;
    size_t count;
    bool more;

    if (!transition_file_listed(reply, &count, &more, &err)) {
        api_request_refuse(request, &err);
        return;
    }
    for (size_t i = 0; i < count && session->count < MAX_FILES; i++) {
        struct librechat_file *file = &session->files[session->count];

        if (!transition_file_row(reply, i, &record) ||
            !librechat_same_upload(record.id, first))
            continue;
        *file =
            (struct librechat_file){ .id = librechat_id_of_record(record.id),
                                     .path = record.name,
                                     .mime = record.mime,
                                     .blob = record.blob,
                                     .bytes = record.bytes,
                                     .changed_at = record.created_at };
        session->count++;
    }
    session->done(request, session);
}

static void ask_records(struct api_request *request)
{
    const struct librechat_session *session = request->state;
    const struct file_page page = { .ascending = true,
                                    .count = MAX_FILES,
                                    .after = view_of(session->record) };
    struct command command;

    transition_file_list(&command, &request->gateway->names, session->partition,
                         view_of(request->caller.tenant), &page);
    api_request_call(request, session->partition, &command, on_records);
    command_finish(&command);
}

/* --------------------------------------------------------------------- runs */

static struct view member_of(const json_t *json, const char *name)
{
    const json_t *member = json_object_get(json, name);

    return json_is_string(member) ? (struct view){ json_string_value(member),
                                                   json_string_length(member) }
                                  : (struct view){ "", 0 };
}

/* False: it is not there any more, its bytes were not kept, or its path is not
 * text. */
static bool read_output(const json_t *one, struct librechat_file *file)
{
    const json_t *path = json_object_get(one, "path");

    *file = (struct librechat_file){
        .path = member_of(one, path ? "path" : "name"),
        .mime = member_of(one, "mime"),
        .blob = member_of(one, "blob"),
        .bytes = (uint64_t)json_integer_value(json_object_get(one, "bytes")),
    };
    if (!file_path_is_valid(file->path) || !id_is_sha256(file->blob) ||
        view_is(member_of(one, "change"), file_change_names[FILE_DELETED]))
        return false;
    file->id = librechat_id_of_path(file->path);
    return true;
}

static bool has_image(const struct librechat_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (view_starts(files[i].mime, "image/"))
            return true;
    return false;
}

size_t librechat_files_of_result(const json_t *result,
                                 struct librechat_file *files, size_t most)
{
    const json_t *cell = code_run_last_cell(result);
    json_t *error = code_run_error(result);
    bool failed = !json_is_null(error);
    const json_t *one;
    size_t i, count = 0;

    json_decref(error);
    if (failed)
        return 0;
    json_array_foreach(json_object_get(cell, "files"), i, one)
        if (count < most && read_output(one, &files[count]))
            count++;
    /* A figure that was saved is displayed, too: once is enough. */
    if (has_image(files, count))
        return count;
    json_array_foreach(json_object_get(result, "images"), i, one)
        if (count < most && read_output(one, &files[count]))
            count++;
    return count;
}

static void on_session_result(struct api_request *request,
                              const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct librechat_session *session = request->state;
    struct view bytes = reply_view(reply);
    const msgpack_object *value;
    json_t *result = NULL;

    if (bytes.len > 0 && value_decode(bytes, &value, &arena, NULL))
        result = json_from_value(value);
    session->count =
        librechat_files_of_result(result, session->files, MAX_FILES);
    for (size_t i = 0; i < session->count; i++)
        session->files[i].changed_at = session->ended_at;
    session->done(request, session);
    json_decref(result);
}

/* tenant, finished_at */
static void on_session_job(struct api_request *request, const redisReply *reply)
{
    struct librechat_session *session = request->state;
    struct command command;
    struct key key;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !view_is(names_or_default(reply_view(reply->element[0])),
                 request->caller.tenant)) {
        session->done(request, session);
        return;
    }
    session->ended_at = reply_number(reply->element[1]);
    key = names_result(&request->gateway->names, view_of(session->job));
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, session->partition, &command, on_session_result);
    command_finish(&command);
}

static void ask_job(struct api_request *request)
{
    const struct librechat_session *session = request->state;
    struct key key = names_job(&request->gateway->names, view_of(session->job));
    struct command command;

    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "tenant");
    command_add_text(&command, "finished_at");
    api_request_call(request, session->partition, &command, on_session_job);
    command_finish(&command);
}

/* ------------------------------------------------------------------ all */

/* All jobs and files of a tenant are in its partition. */
static bool is_run_of(struct librechat_session *session, struct view id)
{
    unsigned int partition;

    return librechat_job_of_id(id, session->job) &&
           id_parse(view_of(session->job), &partition) &&
           partition == session->partition;
}

void librechat_session_open(struct api_request *request, struct view id,
                            librechat_session_done *done)
{
    struct librechat_session *session = request->state;

    session->done = done;
    session->count = 0;
    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &session->partition))
        return;
    session->is_run = is_run_of(session, id);
    if (session->is_run)
        ask_job(request);
    else if (librechat_record_of_id(id, session->record))
        ask_records(request);
    else
        done(request, session);
}

const struct librechat_file *
librechat_session_find(const struct librechat_session *session,
                       struct view file)
{
    for (size_t i = 0; i < session->count; i++)
        if (view_is(file, session->files[i].id.text))
            return &session->files[i];
    return NULL;
}
