/* dify.c - the sandbox of Dify: code in, what it printed out.
 *
 * Each run is a job without a session, so nothing stays. The answer is always
 * 200; "code" in it is 0, or says that the request was wrong. Dify takes any
 * text in "error" for a failure, so warnings on stderr are not in it. */
#include <string.h>

#include "producer/gateway/code_run.h"
#include "producer/gateway/plugs/plugs.h"

enum { RUN_MS = 60 * 1000, WRONG_REQUEST = -400 };

static void answer_data(struct api_request *request, json_t *data)
{
    api_request_json(request, 200,
                     json_pack("{s:i, s:s, s:o}", "code", 0, "message",
                               "success", "data", data));
}

static void refuse_run(struct api_request *request, const char *message)
{
    api_request_json(request, 200,
                     json_pack("{s:i, s:s, s:n}", "code", WRONG_REQUEST,
                               "message", message, "data"));
}

static void run_ended(struct api_request *request, const json_t *result)
{
    json_t *error = code_run_error(result);
    bool failed = !json_is_null(error);
    const char *text = json_string_value(json_object_get(error, "traceback"));

    if (!text || *text == '\0')
        text = json_string_value(json_object_get(error, "value"));
    if (failed && !text)
        text = "the code failed";
    answer_data(request,
                json_pack("{s:o, s:s, s:i}", "stdout",
                          code_run_text(result, "stdout"), "error",
                          failed ? text : "", "exit_code", failed ? 1 : 0));
    json_decref(error);
}

/* NULL: it is one that runs here. */
static const char *dify_refusal(const json_t *body)
{
    const char *language = json_string_value(json_object_get(body, "language"));
    const json_t *preload = json_object_get(body, "preload");

    if (!language || strcmp(language, "python3") != 0)
        return "unsupported language: this sandbox runs python3 only";
    if (!json_is_string(json_object_get(body, "code")))
        return "code: should be a text";
    if (preload && !json_is_null(preload) && !json_is_string(preload))
        return "preload: should be a text";
    return NULL;
}

void dify_run(struct api_request *request)
{
    static const struct code_run_limits limits = { RUN_MS, RUN_MS };
    json_t *body = api_request_object(request), *cells;
    const char *wrong;

    if (!body)
        return;
    wrong = dify_refusal(body);
    if (wrong) {
        refuse_run(request, wrong);
    } else {
        cells = json_array();
        if (json_string_length(json_object_get(body, "preload")) > 0)
            json_array_append(cells, json_object_get(body, "preload"));
        json_array_append(cells, json_object_get(body, "code"));
        code_run_start(request, json_pack("{s:o}", "cells", cells), &limits,
                       run_ended);
    }
    json_decref(body);
}

/* What is installed is known to executors, not here. */
void dify_dependencies(struct api_request *request)
{
    answer_data(request, json_pack("{s:[]}", "dependencies"));
}

void dify_health(struct api_request *request)
{
    const struct http_pair type = { VIEW("Content-Type"),
                                    VIEW("application/json") };

    api_request_answer(request, 200, &type, 1, VIEW("\"ok\""));
}
