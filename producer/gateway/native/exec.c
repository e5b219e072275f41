/* exec.c - POST /v1/exec: runs code, and answers what came of it.
 *
 * It is a job of kind "code", for clients that want to wait for one answer. */
#include <string.h>

#include "producer/gateway/code_run.h"
#include "producer/gateway/native/native.h"
#include "schemas/message/buf.h"

enum { EXEC_SECONDS = 60, EXEC_MOST_SECONDS = 600 };

/* As a segment of a path. */
static void add_escaped(struct buf *url, const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;

        if (byte <= ' ' || byte >= 127 || strchr("/%?#\\\"", byte))
            buf_printf(url, "%%%02X", byte);
        else
            buf_add(url, (struct view){ c, 1 });
    }
}

/* Results leave out what is 0. */
static json_t *bytes_json(const json_t *file)
{
    json_t *bytes = json_object_get(file, "bytes");

    return bytes ? json_incref(bytes) : json_integer(0);
}

/* {"name", "bytes", "mime", "url"} of each. folder: of the job's routes. */
static json_t *links_json(const json_t *result, const char *folder)
{
    const char *id = json_string_value(json_object_get(result, "id"));
    json_t *links = json_array();
    const json_t *file;
    size_t i;

    json_array_foreach(json_object_get(result, folder), i, file) {
        CLEANUP(buf_finish) struct buf url = { .max = 8192 };
        const char *name = json_string_value(json_object_get(file, "name"));

        if (!id || !name || !json_object_get(file, "blob"))
            continue;
        buf_printf(&url, "/v1/jobs/%s/%s/", id, folder);
        add_escaped(&url, name);
        json_array_append_new(links,
                              json_pack("{s:s, s:o, s:O?, s:s%}", "name", name,
                                        "bytes", bytes_json(file), "mime",
                                        json_object_get(file, "mime"), "url",
                                        url.data, url.len));
    }
    return links;
}

static void exec_ended(struct api_request *request, const json_t *result)
{
    const json_t *cell = code_run_last_cell(result);

    api_request_json(
        request, 200,
        json_pack("{s:O?, s:O?, s:O?, s:o, s:o, s:O?, s:o, s:o, s:o}", "id",
                  json_object_get(result, "id"), "status",
                  json_object_get(result, "status"), "session",
                  json_object_get(result, "session"), "stdout",
                  code_run_text(result, "stdout"), "stderr",
                  code_run_text(result, "stderr"), "result",
                  json_object_get(cell, "result"), "error",
                  code_run_error(result), "files", links_json(result, "files"),
                  "images", links_json(result, "images")));
}

/* False: answered. */
static bool check_names(struct api_request *request, json_t *body)
{
    static const char *const names[] = { "code",  "cells", "session",
                                         "files", "env",   "timeout" };
    const char *name;
    json_t *value;

    json_object_foreach(body, name, value) {
        bool known = false;

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            known = known || strcmp(name, names[i]) == 0;
        if (!known) {
            api_request_wrong(request, name,
                              "%.100s: there is no such member; there are "
                              "code, cells, session, files, env, timeout",
                              name);
            return false;
        }
    }
    return true;
}

/* "code" becomes the only cell. False: answered. */
static bool read_code(struct api_request *request, json_t *body)
{
    json_t *code = json_object_get(body, "code");

    if (!code == !json_object_get(body, "cells")) {
        api_request_wrong(request, "code",
                          "code: give either code or cells, not %s",
                          code ? "both" : "neither");
        return false;
    }
    if (!code)
        return true;
    if (!json_is_string(code)) {
        api_request_wrong(request, "code", "code: should be a text");
        return false;
    }
    json_object_set_new(body, "cells", json_pack("[O]", code));
    json_object_del(body, "code");
    return true;
}

static bool read_timeout(struct api_request *request, json_t *body,
                         uint64_t *ms)
{
    const json_t *timeout = json_object_get(body, "timeout");
    json_int_t seconds = timeout ? json_integer_value(timeout) : EXEC_SECONDS;

    if ((timeout && !json_is_integer(timeout)) || seconds < 1 ||
        seconds > EXEC_MOST_SECONDS) {
        api_request_wrong(request, "timeout",
                          "timeout: should be whole seconds, 1 to %d",
                          EXEC_MOST_SECONDS);
        return false;
    }
    *ms = (uint64_t)seconds * 1000;
    json_object_del(body, "timeout");
    return true;
}

void exec_run(struct api_request *request)
{
    json_t *body = api_request_object(request);
    uint64_t ms;

    if (body && check_names(request, body) && read_code(request, body) &&
        read_timeout(request, body, &ms))
        code_run_start(request, json_incref(body),
                       &(struct code_run_limits){ ms, ms }, exec_ended);
    json_decref(body);
}
