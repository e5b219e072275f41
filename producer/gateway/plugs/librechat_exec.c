/* librechat_exec.c - POST /v1/librechat/exec: runs code as LibreChat asks.
 *
 *   the files that it names: each session is opened once --> a job of kind code
 *   --> what its last cell wrote, and the files that this has changed
 *
 * A job takes files without folders. So where a file has a folder, all of them
 * come under names of their own, and a cell before the code moves them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/code_run.h"
#include "producer/gateway/plugs/librechat_cells.h"
#include "producer/gateway/plugs/librechat_check.h"
#include "producer/gateway/plugs/librechat_session.h"
#include "producer/gateway/plugs/plugs.h"
#include "schemas/message/buf.h"

enum {
    CELL_SECONDS = 60,
    DEADLINE_SECONDS = 600, /* waiting in the queue included */
    KEEP_MS = 24 * 3600 * 1000,
};

/* The state of the request, until the job is made. */
struct librechat_exec {
    struct librechat_session session; /* first, for librechat_session_open() */
    json_t *body;
    json_t *files; /* {"path", "blob", "bytes", "mime"} of each of the body's;
                      null: not looked up yet */
    size_t at;     /* the first of them that is not */
};

static void librechat_exec_free(void *state)
{
    struct librechat_exec *exec = state;

    json_decref(exec->body);
    json_decref(exec->files);
    free(exec);
}

/* --------------------------------------------------------------- the answer */

/* What CPython would write at the end of stderr; "": the code has not failed.
 */
static void write_failure(const json_t *result, struct buf *out)
{
    const json_t *cell = code_run_last_cell(result);
    const char *status = json_string_value(json_object_get(cell, "status"));
    json_t *error = code_run_error(result);
    const char *text = json_string_value(json_object_get(error, "traceback"));

    if (status && strcmp(status, "timeout") == 0) {
        buf_printf(
            out, "The code was stopped, because it ran too long: %.0f s.\n",
            (double)json_integer_value(json_object_get(cell, "ms")) / 1000);
    } else if (!json_is_null(error)) {
        if (!text || *text == '\0')
            text = json_string_value(json_object_get(error, "value"));
        buf_add(out, view_of(text ? text : "The code failed."));
        if (out->len > 0 && out->data[out->len - 1] != '\n')
            buf_add(out, VIEW("\n"));
    }
    json_decref(error);
}

static json_t *stderr_json(const json_t *result, struct view failure)
{
    json_t *written = code_run_text(result, "stderr");
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };

    buf_add(&text, (struct view){ json_string_value(written),
                                  json_string_length(written) });
    if (failure.len > 0 && text.len > 0 && text.data[text.len - 1] != '\n')
        buf_add(&text, VIEW("\n"));
    buf_add(&text, failure);
    json_decref(written);
    return json_stringn(text.len > 0 ? text.data : "", text.len);
}

static json_t *files_json(const json_t *result, const char *session)
{
    struct librechat_file files[MAX_FILES];
    size_t count = librechat_files_of_result(result, files, MAX_FILES);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s%, s:s}", "id", files[i].id.text, "name",
                            files[i].path.data, files[i].path.len,
                            "storage_session_id", session));
    return list;
}

static void run_ended(struct api_request *request, const json_t *result)
{
    const char *id = json_string_value(json_object_get(result, "id"));
    struct librechat_id session = librechat_id_of_job(view_of(id));
    const json_t *cell = code_run_last_cell(result);
    CLEANUP(buf_finish) struct buf failure = { .max = SIZE_MAX };

    write_failure(result, &failure);
    api_request_json(
        request, 200,
        json_pack("{s:s, s:o, s:o, s:o, s:i, s:O?, s:I}", "session_id",
                  session.text, "stdout", code_run_text(result, "stdout"),
                  "stderr", stderr_json(result, buf_view(&failure)), "files",
                  files_json(result, session.text), "code", failure.len > 0,
                  "status", json_object_get(cell, "status"), "wall_time",
                  json_integer_value(json_object_get(cell, "ms"))));
}

/* ------------------------------------------------------------------ the job */

static bool has_folder(const json_t *files)
{
    const json_t *file;
    size_t i;

    json_array_foreach(files, i, file)
        if (strchr(json_string_value(json_object_get(file, "path")), '/'))
            return true;
    return false;
}

/* The files as a job has them. moves: gets [from, to] of each, where the job
 * has them under other names. */
static json_t *job_files(const json_t *files, json_t *moves)
{
    bool moved = has_folder(files);
    json_t *list = json_array(), *one;
    const json_t *file;
    char name[32];
    size_t i;

    json_array_foreach(files, i, file) {
        json_t *path = json_object_get(file, "path");

        one = json_pack("{s:O, s:O, s:O, s:O}", "name", path, "blob",
                        json_object_get(file, "blob"), "bytes",
                        json_object_get(file, "bytes"), "mime",
                        json_object_get(file, "mime"));
        if (moved) {
            snprintf(name, sizeof(name), ".librechat-%zu", i);
            json_object_set_new(one, "name", json_string(name));
            json_array_append_new(moves, json_pack("[s, O]", name, path));
        }
        json_array_append_new(list, one);
    }
    return list;
}

/* Frees the state. */
static void start_job(struct api_request *request)
{
    static const struct code_run_limits limits = {
        .cell_ms = CELL_SECONDS * 1000ULL,
        .deadline_ms = DEADLINE_SECONDS * 1000ULL
    };
    struct librechat_exec *exec = request->state;
    json_t *moves = json_array();
    json_t *files = job_files(exec->files, moves);
    json_t *cells = librechat_cells(exec->body, moves);

    json_decref(moves);
    code_run_start(request,
                   json_pack("{s:o, s:o, s:I}", "cells", cells, "files", files,
                             "keep_ms", (json_int_t)KEEP_MS),
                   &limits, run_ended);
}

/* ---------------------------------------------------------------- its files */

static const json_t *file_asked(const struct librechat_exec *exec, size_t i)
{
    return json_array_get(json_object_get(exec->body, "files"), i);
}

/* One that has the same path as an earlier one, or is in a folder of that name,
 * or the other way round. */
static bool paths_clash(const char *a, const char *b)
{
    size_t len = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, len) == 0 && (a[len] == '/' || a[len] == '\0') &&
           (b[len] == '/' || b[len] == '\0');
}

static const char *path_at(const json_t *files, size_t i)
{
    return json_string_value(json_object_get(json_array_get(files, i), "path"));
}

/* The later one counts. */
static void drop_clashes(json_t *files)
{
    size_t i = json_array_size(files);

    while (i-- > 0)
        for (size_t j = i; j-- > 0;)
            if (paths_clash(path_at(files, i), path_at(files, j))) {
                json_array_remove(files, j);
                i--;
            }
}

/* The file's place: the name that is asked for, else its own. */
static json_t *input_path(const json_t *asked,
                          const struct librechat_file *file)
{
    json_t *name = json_object_get(asked, "name");

    return json_is_string(name) ? json_incref(name)
                                : json_stringn(file->path.data, file->path.len);
}

static void look_at_file(struct api_request *request);

/* All files of the session that is open. False: one is not in it. */
static bool take_files(struct librechat_exec *exec, const char *session)
{
    for (size_t i = exec->at; i < json_array_size(exec->files); i++) {
        const json_t *asked = file_asked(exec, i);
        const char *id = json_string_value(json_object_get(asked, "id"));
        const struct librechat_file *file;

        if (strcmp(librechat_session_asked(asked), session) != 0)
            continue;
        file = librechat_session_find(&exec->session, view_of(id));
        if (!file)
            return false;
        json_array_set_new(exec->files, i,
                           json_pack("{s:o, s:s%, s:I, s:s%}", "path",
                                     input_path(asked, file), "blob",
                                     file->blob.data, file->blob.len, "bytes",
                                     (json_int_t)file->bytes, "mime",
                                     file->mime.data, file->mime.len));
    }
    return true;
}

static void on_session(struct api_request *request,
                       const struct librechat_session *session)
{
    struct librechat_exec *exec = request->state;
    struct err err;

    (void)session;
    if (take_files(exec, librechat_session_asked(file_asked(exec, exec->at)))) {
        look_at_file(request);
    } else {
        err_set(&err, ERR_REJECT, "unknown_file",
                "files: one of them does not exist, or not any more");
        api_request_refuse(request, &err);
    }
}

/* The next one that is not looked up; behind the last: the job. */
static void look_at_file(struct api_request *request)
{
    struct librechat_exec *exec = request->state;

    while (exec->at < json_array_size(exec->files) &&
           !json_is_null(json_array_get(exec->files, exec->at)))
        exec->at++;
    if (exec->at < json_array_size(exec->files)) {
        librechat_session_open(
            request,
            view_of(librechat_session_asked(file_asked(exec, exec->at))),
            on_session);
        return;
    }
    drop_clashes(exec->files);
    start_job(request);
}

void librechat_exec(struct api_request *request)
{
    json_t *body = api_request_object(request);
    const json_t *files = json_object_get(body, "files");
    struct librechat_exec *exec;

    if (!body)
        return;
    if (!librechat_check(request, body)) {
        json_decref(body);
        return;
    }
    exec = calloc(1, sizeof(*exec));
    if (!exec)
        abort();
    exec->body = body;
    exec->files = json_array();
    for (size_t i = 0; i < json_array_size(files); i++)
        json_array_append_new(exec->files, json_null());
    request->state = exec;
    request->state_free = librechat_exec_free;
    look_at_file(request);
}

/* Code that calls LibreChat's own tools would have to wait in its box for
 * another request. */
void librechat_programmatic(struct api_request *request)
{
    struct err err;

    err_set(&err, ERR_REJECT, "not_offered",
            "code that runs here cannot call tools of LibreChat: there is no "
            "/exec/programmatic");
    api_request_refuse_as(request, 404, &err, 0);
}
