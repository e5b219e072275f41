/* dead.c - jobs that failed for good: list them, read them, run them again. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/operate/call.h"
#include "producer/gateway/operate/operate.h"

static bool dead_run_list(struct operate_call *call, struct quern *quern)
{
    const char *queue = *call->queue ? call->queue : NULL;
    struct quern_dead_jobs deads;
    json_t *list;

    if (!quern_dead_list(quern, queue, call->skip, call->limit, &deads,
                         &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < deads.count; i++)
        json_array_append_new(list, operate_dead_json(&deads.items[i]));
    free(deads.items);
    call->answer =
        json_pack("{s:o, s:I}", "dead", list, "total", (json_int_t)deads.total);
    return true;
}

void dead_list(struct api_request *request)
{
    operate_call(request, dead_run_list, NULL);
}

/* An entry of a stream that was no job has no status. */
static bool read_status(struct operate_call *call, struct quern *quern,
                        struct quern_status *status)
{
    if (strncmp(call->name, "entry-", 6) != 0)
        return quern_get(quern, call->name, status, &call->error);
    strcpy(status->error_code, "bad_entry");
    return true;
}

static bool run_show(struct operate_call *call, struct quern *quern)
{
    struct quern_status status = { 0 };
    void *bytes = NULL;
    size_t size = 0;
    bool good = read_status(call, quern, &status) &&
                (quern_body(quern, call->name, &bytes, &size, &call->error) ||
                 strcmp(call->error.code, "expired") == 0);

    if (good)
        call->answer =
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "id", call->name,
                      "error_code", status.error_code, "attempts",
                      (json_int_t)status.attempts, "submitted_at",
                      (json_int_t)status.submitted_at, "finished_at",
                      (json_int_t)status.finished_at, "result",
                      operate_result_json(&status), "job",
                      operate_body_json(bytes, size));
    quern_status_finish(&status);
    free(bytes);
    return good ||
           (operate_is_unknown(call, "job") && operate_unknown(call, "job"));
}

void dead_show(struct api_request *request)
{
    operate_call(request, run_show, NULL);
}

static bool run_remove(struct operate_call *call, struct quern *quern)
{
    if (!quern_forget(quern, call->name, &call->error))
        return false;
    call->answer =
        json_pack("{s:s, s:b}", "id", call->name, "removed", (int)true);
    return true;
}

void dead_remove(struct api_request *request)
{
    operate_call(request, run_remove, "dead.remove");
}

static bool run_requeue(struct operate_call *call, struct quern *quern)
{
    static const char *const names[] = { "anew", NULL };
    bool anew;

    if (!operate_only(call, names) || !operate_switch(call, "anew", &anew) ||
        !quern_requeue(quern, call->name, anew, &call->error))
        return false;
    call->answer = json_pack("{s:s, s:s}", "id", call->name, "state", "queued");
    return true;
}

void dead_requeue(struct api_request *request)
{
    operate_call(request, run_requeue, "dead.requeue");
}
