/* schedules.c - rules that submit jobs at certain times. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/operate/call.h"
#include "producer/gateway/operate/operate.h"

static bool schedules_run_list(struct operate_call *call, struct quern *quern)
{
    struct quern_schedules schedules;
    json_t *list;

    if (!quern_schedules(quern, &schedules, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < schedules.count; i++)
        json_array_append_new(list, operate_schedule_json(&schedules.items[i]));
    free(schedules.items);
    return operate_answer_list(call, "schedules", list);
}

void schedules_list(struct api_request *request)
{
    operate_call(request, schedules_run_list, NULL);
}

/* {"spec": "30 6 * * mon-fri", "zone": "Europe/Berlin", "job": {...}} */
static bool run_set(struct operate_call *call, struct quern *quern)
{
    static const char *const names[] = { "spec", "zone", "job", NULL };
    json_t *job = json_object_get(call->body, "job");
    const char *spec, *zone;
    uint64_t next;

    if (!operate_only(call, names) || !operate_text(call, "spec", &spec) ||
        !operate_text(call, "zone", &zone))
        return false;
    if (!json_is_object(job))
        return operate_wrong(call, "bad_field", "job: must be an object");
    CLEANUP(cleanup_free) char *text = json_dumps(job, JSON_COMPACT);
    zone = *zone ? zone : NULL;
    if (!quern_schedule_next(spec, zone, 0, &next, &call->error) ||
        !quern_schedule_set(quern, call->name, spec, zone, text, NULL,
                            &call->error))
        return false;
    call->answer = json_pack("{s:s}", "schedule", call->name);
    return true;
}

void schedules_set(struct api_request *request)
{
    operate_call(request, run_set, "schedule.set");
}

static bool run_remove(struct operate_call *call, struct quern *quern)
{
    if (!quern_schedule_remove(quern, call->name, &call->error))
        return false;
    call->answer =
        json_pack("{s:s, s:b}", "schedule", call->name, "removed", (int)true);
    return true;
}

void schedules_remove(struct api_request *request)
{
    operate_call(request, run_remove, "schedule.remove");
}

static bool schedule_set_paused(struct operate_call *call, struct quern *quern,
                                bool pause)
{
    if (!quern_schedule_pause(quern, call->name, pause, &call->error))
        return false;
    call->answer =
        json_pack("{s:s, s:b}", "schedule", call->name, "paused", (int)pause);
    return true;
}

static bool run_pause(struct operate_call *call, struct quern *quern)
{
    return schedule_set_paused(call, quern, true);
}

static bool run_resume(struct operate_call *call, struct quern *quern)
{
    return schedule_set_paused(call, quern, false);
}

void schedules_pause(struct api_request *request)
{
    operate_call(request, run_pause, "schedule.pause");
}

void schedules_resume(struct api_request *request)
{
    operate_call(request, run_resume, "schedule.resume");
}

static bool run_now(struct operate_call *call, struct quern *quern)
{
    struct quern_id id;

    if (!quern_schedule_run(quern, call->name, &id, &call->error))
        return false;
    call->status = 201;
    call->answer =
        json_pack("{s:s, s:s}", "schedule", call->name, "id", id.text);
    return true;
}

void schedules_run(struct api_request *request)
{
    operate_call(request, run_now, "schedule.run");
}
