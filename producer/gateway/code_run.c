/* code_run.c - a request that runs code and waits for what came of it. */
#include "producer/gateway/code_run.h"

#include <stdlib.h>
#include <string.h>

#include "producer/client/draft.h"
#include "producer/client/fleet.h"
#include "producer/gateway/code_output.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/followers.h"
#include "producer/gateway/openai/left_jobs.h"
#include "producer/gateway/submits.h"
#include "schemas/json/convert.h"
#include "schemas/message/id.h"
#include "schemas/message/result.h"

/* The state of the request. */
struct code_run {
    struct code_output output; /* first, for code_output_read() */
    struct api_request *request;
    struct draft draft;
    struct quern_id id;
    bool may_run; /* it is submitted, or may be, and has not ended */
    struct job_follower *follower; /* NULL: it is not followed any more */
    code_run_done *done;
};

/* Comes with the answer, or when the client has gone before. */
static void code_run_free(void *state)
{
    static const struct repeat none;
    struct code_run *run = state;

    if (run->may_run)
        left_jobs_add(run->request->gateway->left_jobs, view_of(run->id.text),
                      &none);
    job_follower_free(run->follower);
    draft_finish(&run->draft);
    code_output_finish(&run->output);
    free(run);
}

static void on_output(struct api_request *request)
{
    const struct code_run *run = request->state;

    run->done(request, run->output.result);
}

static void on_result(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct code_run *run = request->state;
    struct view bytes = reply_view(reply);
    const msgpack_object *value;
    unsigned int partition = 0;
    struct err err;

    if (bytes.len == 0 || !value_decode(bytes, &value, &arena, NULL)) {
        err_set(&err, ERR_REJECT, "no_result", "the result of job %s is gone",
                run->id.text);
        api_request_refuse_as(request, 500, &err, 0);
        return;
    }
    id_parse(view_of(run->id.text), &partition);
    code_output_read(request, json_from_value(value), partition, on_output);
}

static void read_result(struct code_run *run)
{
    struct api_request *request = run->request;
    struct view id = view_of(run->id.text);
    struct key key = names_result(&request->gateway->names, id);
    unsigned int partition = 0;
    struct command command;

    run->follower = NULL;
    run->may_run = false;
    id_parse(id, &partition);
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, partition, &command, on_result);
    command_finish(&command);
}

static void on_event(void *owner, struct view event, bool is_last)
{
    (void)event;
    if (is_last)
        read_result(owner);
}

static void on_failed(void *owner, const struct err *why)
{
    (void)why; /* what is read next says it, too */
    read_result(owner);
}

static const struct job_follower_events followed = { .on_bytes = on_event,
                                                     .on_failed = on_failed };

static void on_submitted(struct api_request *request, const redisReply *reply,
                         const struct err *lost)
{
    struct code_run *run = request->state;
    struct err err = *lost;

    if (!reply ||
        !draft_submitted(reply, run->draft.fresh, &run->id, NULL, &err)) {
        run->may_run = strcmp(err.code, "unknown_outcome") == 0;
        api_request_refuse(request, &err);
        return;
    }
    run->follower = job_follower_new(request->gateway->followers,
                                     view_of(run->id.text), 0, &followed, run);
}

static bool read_draft(struct code_run *run, json_t *job,
                       const struct code_run_limits *limits)
{
    static const struct quern_id none;
    static const struct quern_submit_options options;
    struct api_request *request = run->request;
    const struct draft_finder finder = { fleet_links_find,
                                         request->gateway->links };
    struct err err;

    json_object_set_new(job, "kind", json_string("code"));
    json_object_set_new(job, "tenant", json_string(request->caller.tenant));
    json_object_set_new(job, "limits",
                        json_pack("{s:I, s:I}", "cell_ms",
                                  (json_int_t)limits->cell_ms, "deadline_ms",
                                  (json_int_t)limits->deadline_ms));
    if (!draft_read_object(&run->draft, &finder, job, &options, &none, &err)) {
        api_request_refuse(request, &err);
        return false;
    }
    run->id = run->draft.id;
    return true;
}

void code_run_start(struct api_request *request, json_t *job,
                    const struct code_run_limits *limits, code_run_done *done)
{
    struct code_run *run = calloc(1, sizeof(*run));
    unsigned int partition;

    if (!run)
        abort();
    run->request = request;
    run->done = done;
    if (request->state_free)
        request->state_free(request->state);
    request->state = run;
    request->state_free = code_run_free;
    if (api_request_partition(request, view_of(request->caller.tenant),
                              &partition) &&
        read_draft(run, job, limits)) {
        run->may_run = true;
        submits_add(request, &run->draft, on_submitted);
    }
    json_decref(job);
}

/* ---------------------------------------------------------- of the result */

json_t *code_run_text(const json_t *result, const char *name)
{
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };
    const json_t *cell;
    size_t i;

    json_array_foreach(json_object_get(result, "cells"), i, cell) {
        const json_t *part = json_object_get(cell, name);

        if (json_is_string(part))
            buf_add(&text, (struct view){ json_string_value(part),
                                          json_string_length(part) });
    }
    return json_stringn(text.len > 0 ? text.data : "", text.len);
}

const json_t *code_run_last_cell(const json_t *result)
{
    const json_t *cells = json_object_get(result, "cells");
    size_t count = json_array_size(cells);

    return count > 0 ? json_array_get(cells, count - 1) : NULL;
}

json_t *code_run_error(const json_t *result)
{
    const json_t *cell = code_run_last_cell(result);
    json_t *error = json_object_get(cell, "error");
    const char *status = json_string_value(json_object_get(cell, "status"));

    if (json_is_object(error))
        return json_incref(error);
    error = json_object_get(result, "error");
    if (json_is_object(error))
        return json_pack("{s:O?, s:O?, s:s}", "name",
                         json_object_get(error, "code"), "value",
                         json_object_get(error, "message"), "traceback", "");
    if (status && strcmp(status, "ok") != 0 && strcmp(status, "exit") != 0)
        return json_pack("{s:s, s:s, s:s}", "name", status, "value",
                         "the cell did not end by itself", "traceback", "");
    return json_null();
}
