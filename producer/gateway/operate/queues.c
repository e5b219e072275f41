/* queues.c - queues and their tenants, and one number for autoscalers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/operate/call.h"
#include "producer/gateway/operate/operate.h"
#include "producer/numbers/fleet_numbers.h"

enum { MAX_SETTINGS = 64 };

static bool check_known(struct operate_call *call, struct quern *quern,
                        const char *queue)
{
    bool known;

    if (!quern_queue_is_known(quern, queue, &known, &call->error))
        return false;
    return known || operate_wrong(call, "unknown_queue",
                                  "no job and no setting has ever named queue "
                                  "%.64s",
                                  queue);
}

/* ---------------------------------------------------------------- asking */

static bool queues_run_list(struct operate_call *call, struct quern *quern)
{
    struct quern_queues queues;
    json_t *list;

    if (!quern_queues(quern, NULL, &queues, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < queues.count; i++)
        json_array_append_new(list, operate_queue_json(&queues.items[i]));
    free(queues.items);
    return operate_answer_list(call, "queues", list);
}

void queues_list(struct api_request *request)
{
    operate_call(request, queues_run_list, NULL);
}

static bool answer_queue(struct operate_call *call, struct quern *quern)
{
    struct quern_tenant_limits limits;
    struct quern_queues queues;

    if (!quern_tenant_limits(quern, call->name, &limits, &call->error))
        return false;
    if (quern_queues(quern, call->name, &queues, &call->error)) {
        call->answer = operate_queue_json(&queues.items[0]);
        json_object_set_new(call->answer, "limits",
                            operate_limits_json(&limits));
        free(queues.items);
    }
    free(limits.items);
    return call->answer != NULL;
}

static bool run_show(struct operate_call *call, struct quern *quern)
{
    return check_known(call, quern, call->name) && answer_queue(call, quern);
}

void queues_show(struct api_request *request)
{
    operate_call(request, run_show, NULL);
}

static bool run_figures(struct operate_call *call, struct quern *quern)
{
    struct quern_minutes minutes;
    json_t *list;

    if (!check_known(call, quern, call->name) ||
        !quern_figures(quern, call->name, call->since, &minutes, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < minutes.count; i++)
        json_array_append_new(list, operate_minute_json(&minutes.items[i]));
    free(minutes.items);
    return operate_answer_list(call, "minutes", list);
}

void queues_figures(struct api_request *request)
{
    operate_call(request, run_figures, NULL);
}

static bool run_tenants(struct operate_call *call, struct quern *quern)
{
    const char *queue = *call->queue ? call->queue : NULL;
    struct quern_tenants tenants;
    json_t *list;

    if ((queue && !check_known(call, quern, queue)) ||
        !quern_tenants(quern, queue, &tenants, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < tenants.count; i++)
        json_array_append_new(list, operate_tenant_json(&tenants.items[i]));
    free(tenants.items);
    return operate_answer_list(call, "tenants", list);
}

void queues_tenants(struct api_request *request)
{
    operate_call(request, run_tenants, NULL);
}

/* Of one queue, or of all of them. */
struct scale {
    uint64_t ready, lanes, running, wanted;
};

static void scale_add(struct scale *scale, const struct quern_queue *queue)
{
    scale->ready += queue->may_start;
    scale->lanes += queue->waiting - queue->may_start;
    scale->running += queue->running;
    scale->wanted += fleet_wanted(queue);
}

static json_t *scale_json(const struct scale *scale, const char *queue)
{
    return json_pack(
        "{s:s?, s:I, s:I, s:I, s:I}", "queue", queue, "wanted",
        (json_int_t)scale->wanted, "ready", (json_int_t)scale->ready, "lanes",
        (json_int_t)scale->lanes, "running", (json_int_t)scale->running);
}

static bool run_scale(struct operate_call *call, struct quern *quern)
{
    const char *queue = *call->queue ? call->queue : NULL;
    struct scale scale = { 0 };
    struct quern_queues queues;

    if ((queue && !check_known(call, quern, queue)) ||
        !quern_queues(quern, queue, &queues, &call->error))
        return false;
    for (size_t i = 0; i < queues.count; i++)
        scale_add(&scale, &queues.items[i]);
    free(queues.items);
    call->answer = scale_json(&scale, queue);
    return true;
}

void queues_scale(struct api_request *request)
{
    operate_call(request, run_scale, NULL);
}

/* --------------------------------------------------------------- changing */

/* A setting may be given as a number, a text, true or false, or null. */
static bool setting_text(struct operate_call *call, const char *name,
                         const json_t *value, char text[32])
{
    const char *word = json_string_value(value);

    if (json_is_integer(value))
        snprintf(text, 32, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        snprintf(text, 32, "%s", json_is_true(value) ? "1" : "");
    else if (json_is_null(value))
        *text = '\0';
    else if (word && strlen(word) < 32)
        snprintf(text, 32, "%s", word);
    else
        return operate_wrong(call, "bad_field",
                             "%.64s: must be a number, or null for none", name);
    return true;
}

static bool run_set(struct operate_call *call, struct quern *quern)
{
    struct quern_pair pairs[MAX_SETTINGS];
    char texts[MAX_SETTINGS][32];
    const char *name;
    size_t count = 0;
    json_t *value;

    if (json_object_size(call->body) == 0 ||
        json_object_size(call->body) > MAX_SETTINGS)
        return operate_wrong(call, "bad_field",
                             "the body has %zu settings, should have 1 to %d",
                             json_object_size(call->body), MAX_SETTINGS);
    json_object_foreach(call->body, name, value) {
        if (!setting_text(call, name, value, texts[count]))
            return false;
        pairs[count] = (struct quern_pair){ name, texts[count] };
        count++;
    }
    return quern_queue_set(quern, call->name, pairs, count, &call->error) &&
           answer_queue(call, quern);
}

void queues_set(struct api_request *request)
{
    operate_call(request, run_set, "queue.set");
}

static bool queue_set_paused(struct operate_call *call, struct quern *quern,
                             const char *value)
{
    const struct quern_pair pair = { "paused", value };

    return check_known(call, quern, call->name) &&
           quern_queue_set(quern, call->name, &pair, 1, &call->error) &&
           answer_queue(call, quern);
}

static bool run_pause(struct operate_call *call, struct quern *quern)
{
    return queue_set_paused(call, quern, "1");
}

static bool run_resume(struct operate_call *call, struct quern *quern)
{
    return queue_set_paused(call, quern, "");
}

void queues_pause(struct api_request *request)
{
    operate_call(request, run_pause, "queue.pause");
}

void queues_resume(struct api_request *request)
{
    operate_call(request, run_resume, "queue.resume");
}

static bool run_purge(struct operate_call *call, struct quern *quern)
{
    static const char *const names[] = { "dry_run", NULL };
    uint64_t jobs;
    bool dry, more;

    if (!operate_only(call, names) || !operate_switch(call, "dry_run", &dry) ||
        !check_known(call, quern, call->name) ||
        !quern_purge(quern, call->name, dry, &jobs, &more, &call->error))
        return false;
    call->answer = json_pack("{s:I, s:b, s:b}", "jobs", (json_int_t)jobs,
                             "dry_run", (int)dry, "more", (int)more);
    return true;
}

void queues_purge(struct api_request *request)
{
    operate_call(request, run_purge, "queue.purge");
}
