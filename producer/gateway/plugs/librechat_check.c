/* librechat_check.c - what LibreChat asks to run: looked at before anything is
 * done. */
#include "producer/gateway/plugs/librechat_check.h"

#include "schemas/message/job.h"
#include "schemas/message/limits.h"

enum { MOST_ARGUMENTS = 64 };

const char *librechat_session_asked(const json_t *file)
{
    const char *session =
        json_string_value(json_object_get(file, "storage_session_id"));

    return session ? session
                   : json_string_value(json_object_get(file, "session_id"));
}

/* False: refused. */
static bool check_lang(struct api_request *request, const json_t *body)
{
    struct view lang =
        view_of(json_string_value(json_object_get(body, "lang")));

    if (view_is(lang, "py") || view_is(lang, "bash")) {
        if (json_is_string(json_object_get(body, "code")))
            return true;
        api_request_wrong(request, "code", "code: should be a text");
        return false;
    }
    api_request_wrong(request, "lang",
                      "lang is \"%.*s\": only py and bash run here",
                      VIEW_ARG(view_head(lang, 40)));
    return false;
}

/* False: refused. */
static bool check_args(struct api_request *request, const json_t *args)
{
    const json_t *one;
    size_t i;

    if (!args || json_is_null(args))
        return true;
    if (!json_is_array(args) || json_array_size(args) > MOST_ARGUMENTS) {
        api_request_wrong(request, "args",
                          "args: should be a list of at most %d texts",
                          MOST_ARGUMENTS);
        return false;
    }
    json_array_foreach(args, i, one)
        if (!json_is_string(one)) {
            api_request_wrong(request, "args", "args[%zu]: should be a text",
                              i);
            return false;
        }
    return true;
}

/* A sentence about what is wrong; NULL: nothing. */
static const char *fault_of_file(const json_t *file)
{
    const json_t *name = json_object_get(file, "name");

    if (!json_is_string(json_object_get(file, "id")) ||
        !librechat_session_asked(file))
        return "should have id and storage_session_id";
    if (name && !json_is_null(name) &&
        !(json_is_string(name) &&
          file_path_is_valid((struct view){ json_string_value(name),
                                            json_string_length(name) })))
        return "name: should be a path in /mnt/data, of names between /";
    return NULL;
}

/* False: refused. */
static bool check_inputs(struct api_request *request, const json_t *files)
{
    const json_t *file;
    size_t i;

    if (!files || json_is_null(files))
        return true;
    if (!json_is_array(files) || json_array_size(files) > MAX_FILES) {
        api_request_wrong(request, "files",
                          "files: should be a list of at most %d files",
                          MAX_FILES);
        return false;
    }
    json_array_foreach(files, i, file) {
        const char *fault = fault_of_file(file);

        if (fault) {
            api_request_wrong(request, "files", "files[%zu]: %s", i, fault);
            return false;
        }
    }
    return true;
}

bool librechat_check(struct api_request *request, const json_t *body)
{
    return check_lang(request, body) &&
           check_args(request, json_object_get(body, "args")) &&
           check_inputs(request, json_object_get(body, "files"));
}
