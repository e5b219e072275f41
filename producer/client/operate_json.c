/* operate_json.c - what operators see, as JSON. */
#include "producer/client/operate_json.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/json/convert.h"
#include "schemas/message/field.h"

json_t *operate_queue_json(const struct quern_queue *queue)
{
    return json_pack(
        "{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "queue", queue->name, "paused", (int)queue->paused, "waiting",
        (json_int_t)queue->waiting, "may_start", (json_int_t)queue->may_start,
        "running", (json_int_t)queue->running, "scheduled",
        (json_int_t)queue->scheduled, "held_by_budget",
        (json_int_t)queue->held_by_budget, "held_by_endpoint",
        (json_int_t)queue->held_by_endpoint, "dead", (json_int_t)queue->dead,
        "oldest_ms", (json_int_t)queue->oldest_ms, "tenants",
        (json_int_t)queue->tenants, "max_depth", (json_int_t)queue->max_depth,
        "tenant_depth", (json_int_t)queue->tenant_depth, "tenant_running",
        (json_int_t)queue->tenant_running, "tenant_rate",
        (json_int_t)queue->tenant_rate, "tenant_rate_ms",
        (json_int_t)queue->tenant_rate_ms, "tenant_tokens",
        (json_int_t)queue->tenant_tokens, "tenant_cost",
        (json_int_t)queue->tenant_cost, "tenant_budget_ms",
        (json_int_t)queue->tenant_budget_ms, "waits_ms",
        (json_int_t)queue->waits_ms);
}

json_t *operate_limits_json(const struct quern_tenant_limits *limits)
{
    json_t *tenants = json_object();

    for (size_t i = 0; i < limits->count; i++) {
        const struct quern_tenant_limit *limit = &limits->items[i];
        json_t *one = json_object_get(tenants, limit->tenant);

        if (!one) {
            one = json_object();
            json_object_set_new(tenants, limit->tenant, one);
        }
        json_object_set_new(one, limit->setting,
                            json_integer((json_int_t)limit->value));
    }
    return tenants;
}

static json_t *jobs_json(const struct quern_worker *worker)
{
    struct view rest = view_of(worker->jobs ? worker->jobs : "");
    json_t *jobs = json_array();

    while (rest.len > 0) {
        const char *end = memchr(rest.data, ' ', rest.len);
        size_t len = end ? (size_t)(end - rest.data) : rest.len;
        size_t past = len + (end != NULL);

        json_array_append_new(jobs, json_stringn(rest.data, len));
        rest = (struct view){ rest.data + past, rest.len - past };
    }
    return jobs;
}

static json_t *models_json(const struct quern_worker *worker)
{
    json_t *models =
        worker->models ? json_loads(worker->models, 0, NULL) : NULL;

    return models ? models : json_null();
}

static json_t *executor_json(const struct quern_worker *worker)
{
    return json_pack("{s:s, s:b, s:s, s:s, s:I}", "socket", worker->executor,
                     "away", (int)(*worker->executor_away != '\0'), "reason",
                     worker->executor_away, "text", worker->executor_reason,
                     "away_since", (json_int_t)worker->executor_away_since);
}

/* {"lease": "30s", ...}; null: it has not said. */
static json_t *settings_json(const struct quern_worker *worker)
{
    json_t *settings = worker->settings ? json_object() : json_null();
    const char *line = worker->settings;

    while (line && *line) {
        size_t len = strcspn(line, "\n"), name = strcspn(line, "=");

        if (name < len)
            json_object_setn_new(settings, line, name,
                                 json_stringn(line + name + 1, len - name - 1));
        line += len + (line[len] == '\n');
    }
    return settings;
}

json_t *operate_worker_json(const struct quern_worker *worker)
{
    return json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:b, s:s, s:I, s:I, s:o, s:o, s:o, s:I, "
        "s:I, s:I, s:I, s:I, s:o}",
        "worker", worker->name, "host", worker->host, "pid",
        (json_int_t)worker->pid, "version", worker->version, "mode",
        worker->mode, "draining", (int)worker->draining, "queues",
        worker->queues, "slots", (json_int_t)worker->slots, "running",
        (json_int_t)worker->running, "jobs", jobs_json(worker), "models",
        models_json(worker), "executor", executor_json(worker), "started_at",
        (json_int_t)worker->started_at, "seen_at", (json_int_t)worker->seen_at,
        "clock", (json_int_t)worker->clock, "drain_ms",
        (json_int_t)worker->drain_ms, "grace_ms", (json_int_t)worker->grace_ms,
        "settings", settings_json(worker));
}

json_t *operate_hook_json(const struct quern_hook *hook)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:s, s:I, s:I, s:I, s:I, s:s, s:I}", "hook",
        hook->id, "url", hook->url, "name", hook->name, "events", hook->events,
        "disabled", (int)hook->disabled, "reason", hook->reason, "secrets",
        (json_int_t)hook->secrets, "created_at", (json_int_t)hook->created_at,
        "last_at", (json_int_t)hook->last_at, "last_status",
        (json_int_t)hook->last_status, "last_why", hook->last_why, "failures",
        (json_int_t)hook->failures);
}

json_t *operate_key_json(const struct quern_key *key)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "key", key->id,
        "tenant", key->tenant, "name", key->name, "scopes", key->scopes,
        "created_at", (json_int_t)key->created_at, "expires_at",
        (json_int_t)key->expires_at, "rate", (json_int_t)key->rate, "jobs",
        (json_int_t)key->jobs, "cost", (json_int_t)key->cost, "last_used_at",
        (json_int_t)key->last_used_at);
}

json_t *operate_dead_json(const struct quern_dead_job *dead)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "id", dead->id,
        "queue", dead->queue, "tenant", dead->tenant, "error_code",
        dead->error_code, "attempts", (json_int_t)dead->attempts, "errors",
        (json_int_t)dead->errors, "crashes", (json_int_t)dead->crashes,
        "submitted_at", (json_int_t)dead->submitted_at, "finished_at",
        (json_int_t)dead->finished_at);
}

json_t *operate_tenant_json(const struct quern_tenant *tenant)
{
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:I}",
        "tenant", tenant->name, "queue", tenant->queue, "waiting",
        (json_int_t)tenant->waiting, "running", (json_int_t)tenant->running,
        "scheduled", (json_int_t)tenant->scheduled, "tokens",
        (json_int_t)tenant->tokens, "cost", (json_int_t)tenant->cost, "budget",
        (int)tenant->budget, "tenant_depth", (json_int_t)tenant->tenant_depth,
        "tenant_running", (json_int_t)tenant->tenant_running, "tenant_rate",
        (json_int_t)tenant->tenant_rate, "tenant_rate_ms",
        (json_int_t)tenant->tenant_rate_ms, "tenant_tokens",
        (json_int_t)tenant->tenant_tokens, "tenant_cost",
        (json_int_t)tenant->tenant_cost, "tenant_budget_ms",
        (json_int_t)tenant->tenant_budget_ms);
}

json_t *operate_endpoint_json(const struct quern_endpoint *endpoint)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s}",
        "endpoint", endpoint->name, "id", endpoint->id, "host", endpoint->host,
        "model", endpoint->model, "failures", (json_int_t)endpoint->failures,
        "answered_at", (json_int_t)endpoint->answered_at, "failed_at",
        (json_int_t)endpoint->failed_at, "calls", (json_int_t)endpoint->calls,
        "paid_twice", (json_int_t)endpoint->paid_twice, "recovered",
        (json_int_t)endpoint->recovered, "wait_ms",
        (json_int_t)endpoint->wait_ms, "error_code", endpoint->error_code,
        "error", endpoint->error);
}

json_t *operate_schedule_json(const struct quern_schedule *schedule)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:s, s:s, s:I}",
                     "schedule", schedule->name, "spec", schedule->spec, "zone",
                     schedule->zone, "paused", (int)schedule->paused, "next_at",
                     (json_int_t)schedule->next_at, "last_at",
                     (json_int_t)schedule->last_at, "last_id",
                     schedule->last_id, "refused", schedule->refused,
                     "created_at", (json_int_t)schedule->created_at);
}

json_t *operate_job_json(const struct quern_listed_job *job)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I}",
        "id", job->id, "state", quern_state_name(job->state), "queue",
        job->queue, "tenant", job->tenant, "session", job->session, "worker",
        job->worker, "reason", job->reason, "call", job->call, "error_code",
        job->error_code, "submitted_at", (json_int_t)job->submitted_at,
        "started_at", (json_int_t)job->started_at, "finished_at",
        (json_int_t)job->finished_at, "attempts", (json_int_t)job->attempts,
        "tokens", (json_int_t)job->tokens, "cost", (json_int_t)job->cost,
        "due_at", (json_int_t)job->due_at);
}

json_t *operate_explanation_json(const struct quern_explanation *job)
{
    json_t *object = json_object();

    for (size_t i = 0; i < job->count; i++) {
        const struct quern_fact *fact = &job->items[i];
        struct view text = view_of(fact->text);

        json_object_set_new(object, fact->name,
                            fact->number
                                ? json_integer(strtoll(fact->text, NULL, 10))
                                : json_stringn(text.data, text.len));
    }
    json_object_set_new(object, "why", json_string(job->why));
    return object;
}

static json_t *json_of_buckets(const uint64_t *buckets)
{
    json_t *list = json_array();

    for (size_t i = 0; i < QUERN_BUCKETS; i++)
        json_array_append_new(list, json_integer((json_int_t)buckets[i]));
    return list;
}

json_t *operate_minute_json(const struct quern_minute *minute)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "at",
        (json_int_t)minute->at, "started", (json_int_t)minute->started,
        "completed", (json_int_t)minute->completed, "incomplete",
        (json_int_t)minute->incomplete, "failed", (json_int_t)minute->failed,
        "cancelled", (json_int_t)minute->cancelled, "tokens",
        (json_int_t)minute->tokens, "cost", (json_int_t)minute->cost, "waits",
        json_of_buckets(minute->waits), "runs", json_of_buckets(minute->runs));
}

json_t *operate_body_json(const void *bytes, size_t size)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;

    /* What came in may be anything. */
    if (!bytes ||
        !value_decode((struct view){ bytes, size }, &value, &arena, NULL))
        return json_null();
    return json_from_value(value);
}

json_t *operate_result_json(const struct quern_status *status)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    struct view bytes = { status->result, status->result_size };

    if (!status->result || !value_decode(bytes, &value, &arena, NULL))
        return json_null();
    return json_from_value(value);
}

json_t *operate_status_json(const char *id, const struct quern_status *status)
{
    return json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:s, s:o}", "id",
                     id, "state", quern_state_name(status->state), "expired",
                     (int)status->expired, "attempts",
                     (json_int_t)status->attempts, "seq",
                     (json_int_t)status->seq, "submitted_at",
                     (json_int_t)status->submitted_at, "started_at",
                     (json_int_t)status->started_at, "finished_at",
                     (json_int_t)status->finished_at, "error_code",
                     status->error_code, "result", operate_result_json(status));
}
