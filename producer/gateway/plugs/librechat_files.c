/* librechat_files.c - the files of a session of LibreChat: listed, described,
 * read and deleted. The session comes first in the path, the file second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/fleet.h"
#include "producer/gateway/file_answer.h"
#include "producer/gateway/plugs/librechat_session.h"
#include "producer/gateway/plugs/plugs.h"
#include "schemas/redis/operate.h"

/* The same words whether there is no such session, no such file in it, or it is
 * another tenant's. */
static void refuse_absent(struct api_request *request)
{
    struct err err;

    err_set(&err, ERR_REJECT, "unknown_file", "File not found");
    api_request_refuse(request, &err);
}

static void open_files(struct api_request *request,
                       librechat_session_done *done)
{
    struct librechat_session *session = calloc(1, sizeof(*session));

    if (!session)
        abort();
    request->state = session;
    request->state_free = free;
    librechat_session_open(request, request->params[0], done);
}

/* NULL: refused. */
static const struct librechat_file *
file_or_refuse(struct api_request *request,
               const struct librechat_session *session)
{
    const struct librechat_file *file =
        librechat_session_find(session, request->params[1]);

    if (!file)
        refuse_absent(request);
    return file;
}

/* --------------------------------------------------------------- their facts
 */

/* 2026-11-28T00:41:31.123Z */
static json_t *time_json(uint64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    char day[32], text[48];
    struct tm fields;

    gmtime_r(&seconds, &fields);
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &fields);
    snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned int)(ms % 1000));
    return json_string(text);
}

static const char *media_type_of(const struct librechat_file *file, char *room,
                                 size_t size)
{
    view_copy(room, size, file->mime);
    return file->mime.len > 0 ? room : "application/octet-stream";
}

/* <session>/<file>: so clients know the file again. */
static json_t *object_name(const struct api_request *request,
                           const struct librechat_file *file)
{
    return json_sprintf("%.*s/%s", VIEW_ARG(request->params[0]), file->id.text);
}

static json_t *summary_json(const struct api_request *request,
                            const struct librechat_file *file)
{
    return json_pack(
        "{s:o, s:I, s:o, s:s%}", "name", object_name(request, file), "size",
        (json_int_t)file->bytes, "lastModified", time_json(file->changed_at),
        "etag", file->blob.data, file->blob.len);
}

static json_t *full_json(const struct api_request *request,
                         const struct librechat_file *file)
{
    json_t *json = summary_json(request, file);
    char room[MAX_NAME_BYTES + 1];
    const char *type = media_type_of(file, room, sizeof(room));

    json_object_set_new(json, "metadata",
                        json_pack("{s:s, s:s%}", "content-type", type,
                                  "original-filename", file->path.data,
                                  file->path.len));
    json_object_set_new(json, "contentType", json_string(type));
    return json;
}

static json_t *normalized_json(const struct api_request *request,
                               const struct librechat_file *file)
{
    char room[MAX_NAME_BYTES + 1];

    return json_pack("{s:s, s:s%, s:s%, s:I, s:s, s:o}", "id", file->id.text,
                     "name", file->path.data, file->path.len,
                     "storage_session_id", request->params[0].data,
                     request->params[0].len, "size", (json_int_t)file->bytes,
                     "contentType", media_type_of(file, room, sizeof(room)),
                     "lastModified", time_json(file->changed_at));
}

/* The forms of a list: the query's detail. */
static const struct {
    const char *name;
    json_t *(*write)(const struct api_request *request,
                     const struct librechat_file *file);
} details[] = { { "simple", object_name },
                { "summary", summary_json },
                { "full", full_json },
                { "normalized", normalized_json } };

/* The number of details: there is none of that name. */
static size_t detail_of(struct view name)
{
    size_t i = 0, count = sizeof(details) / sizeof(details[0]);

    while (name.len > 0 && i < count && !view_is(name, details[i].name))
        i++;
    return i;
}

static void list_files(struct api_request *request,
                       const struct librechat_session *session)
{
    size_t detail = detail_of(api_request_query(request, "detail"));
    json_t *list = json_array();

    for (size_t i = 0; i < session->count; i++)
        json_array_append_new(
            list, details[detail].write(request, &session->files[i]));
    if (session->count > 0) {
        api_request_json(request, 200, list);
        return;
    }
    json_decref(list);
    refuse_absent(request);
}

void librechat_files_list(struct api_request *request)
{
    struct view detail = api_request_query(request, "detail");

    if (detail_of(detail) < sizeof(details) / sizeof(details[0]))
        open_files(request, list_files);
    else
        api_request_wrong(request, "detail",
                          "detail is \"%.*s\", must be simple, summary, full "
                          "or normalized",
                          VIEW_ARG(view_head(detail, 40)));
}

static void describe_file(struct api_request *request,
                          const struct librechat_session *session)
{
    const struct librechat_file *file = file_or_refuse(request, session);
    json_t *json;

    if (!file)
        return;
    json = full_json(request, file);
    json_object_set_new(json, "originalFilename",
                        json_stringn(file->path.data, file->path.len));
    api_request_json(request, 200, json);
}

void librechat_files_show(struct api_request *request)
{
    open_files(request, describe_file);
}

/* --------------------------------------------------------------- their bytes
 */

static void send_file(struct api_request *request,
                      const struct librechat_session *session)
{
    const struct librechat_file *file = file_or_refuse(request, session);

    if (file)
        file_answer(request,
                    &(struct answered_file){ .blob = file->blob,
                                             .name = file->path,
                                             .mime = file->mime,
                                             .bytes = file->bytes,
                                             .partition = session->partition });
}

void librechat_files_download(struct api_request *request)
{
    open_files(request, send_file);
}

/* ------------------------------------------------------------------ delete */

static void answer_deleted(struct api_request *request)
{
    struct view session = request->params[0], file = request->params[1];

    api_request_json(request, 200,
                     json_pack("{s:s, s:s%, s:s%}", "message",
                               "File deleted successfully", "session_id",
                               session.data, session.len, "fileId", file.data,
                               file.len));
}

static void on_record_removed(struct api_request *request,
                              const redisReply *reply)
{
    struct err err;
    bool was;

    if (!transition_file_removed(reply, &was, &err))
        api_request_refuse(request, &err);
    else if (!was)
        refuse_absent(request);
    else
        answer_deleted(request);
}

static void on_run_removed(struct api_request *request, const redisReply *reply)
{
    struct err err;
    bool late;

    if (!transition_removed(reply, &late, &err))
        api_request_refuse(request, &err);
    else if (late)
        refuse_absent(request);
    else
        answer_deleted(request);
}

static void remove_record(struct api_request *request,
                          const struct librechat_session *session)
{
    char record[FILE_ID_BYTES];
    struct command command;

    librechat_record_of_id(request->params[1], record);
    transition_file_rm(&command, &request->gateway->names, session->partition,
                       view_of(request->caller.tenant), view_of(record));
    api_request_call(request, session->partition, &command, on_record_removed);
    command_finish(&command);
}

/* A file of a run is in its result, which is written once. */
static void remove_run(struct api_request *request,
                       const struct librechat_session *session)
{
    struct command command;
    struct err err;

    if (session->count > 1) {
        err_set(&err, ERR_REJECT, "not_alone",
                "the run wrote %zu files, and they go together, a day after "
                "the run",
                session->count);
        api_request_refuse_as(request, 409, &err, 0);
        return;
    }
    transition_remove(&command, &request->gateway->names,
                      view_of(session->job));
    api_request_call(request, session->partition, &command, on_run_removed);
    command_finish(&command);
}

static void delete_file(struct api_request *request,
                        const struct librechat_session *session)
{
    if (!file_or_refuse(request, session))
        return;
    if (session->is_run)
        remove_run(request, session);
    else
        remove_record(request, session);
}

void librechat_files_delete(struct api_request *request)
{
    open_files(request, delete_file);
}

void librechat_health(struct api_request *request)
{
    api_request_json(request, 200, json_pack("{s:s}", "status", "ok"));
}
