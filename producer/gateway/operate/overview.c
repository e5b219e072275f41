/* overview.c - GET /v1/overview: what the fleet has done and does, in one
 * answer.
 *
 * {"span": "hour", "step_ms", "steps", "from", "points": [...],
 *  "total": {...}, "queues": [...]}: points and total have the counts of a
 * minute (operate_json.h) of all queues together, and of waits and runs p50 and
 * p95: bounds of buckets, ms. Points in which nothing happened are left out. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/operate/call.h"
#include "producer/gateway/operate/operate.h"

enum { MOST_STEPS = 168 };

struct overview_span {
    const char *name;
    uint64_t step_ms;
    size_t steps;
};

static const struct overview_span spans[] = {
    { "hour", 60000, 60 },
    { "day", 600000, 144 },
    { "week", 3600000, MOST_STEPS },
};

static const struct overview_span *span_named(const char *name)
{
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
        if (strcmp(name, spans[i].name) == 0)
            return &spans[i];
    return *name ? NULL : &spans[0];
}

static void sum_add(struct quern_minute *sum, const struct quern_minute *more)
{
    sum->started += more->started;
    sum->completed += more->completed;
    sum->incomplete += more->incomplete;
    sum->failed += more->failed;
    sum->cancelled += more->cancelled;
    sum->tokens += more->tokens;
    sum->cost += more->cost;
    for (size_t i = 0; i < QUERN_BUCKETS; i++) {
        sum->waits[i] += more->waits[i];
        sum->runs[i] += more->runs[i];
    }
}

/* The bound of the bucket in which that part of the times is: -1 for the last
 * one, which has no bound. null: there are no times. */
static json_t *quantile(const uint64_t buckets[QUERN_BUCKETS],
                        unsigned int percent)
{
    uint64_t all = 0, below = 0;

    for (size_t i = 0; i < QUERN_BUCKETS; i++)
        all += buckets[i];
    for (size_t i = 0; i < QUERN_BUCKETS && all > 0; i++) {
        below += buckets[i];
        if (below * 100 >= all * percent)
            return json_integer(
                i + 1 < QUERN_BUCKETS ? (json_int_t)quern_bucket_ms(i) : -1);
    }
    return json_null();
}

static json_t *sum_json(const struct quern_minute *sum)
{
    json_t *json = operate_minute_json(sum);

    json_object_set_new(json, "wait_p50", quantile(sum->waits, 50));
    json_object_set_new(json, "wait_p95", quantile(sum->waits, 95));
    json_object_set_new(json, "run_p50", quantile(sum->runs, 50));
    json_object_set_new(json, "run_p95", quantile(sum->runs, 95));
    json_object_del(json, "waits");
    json_object_del(json, "runs");
    return json;
}

static bool is_idle(const struct quern_minute *sum)
{
    return sum->started + sum->completed + sum->incomplete + sum->failed +
               sum->cancelled ==
           0;
}

/* What is counted of a span, by its steps. */
struct overview {
    const struct overview_span *span;
    uint64_t from; /* where the first step begins */
    struct quern_minute points[MOST_STEPS], total;
};

static bool count_queue(struct overview *overview, struct quern *quern,
                        const char *queue, struct quern_error *error)
{
    struct quern_minutes minutes;

    if (!quern_figures(quern, queue, overview->from, &minutes, error))
        return false;
    for (size_t i = 0; i < minutes.count; i++) {
        const struct quern_minute *minute = &minutes.items[i];
        uint64_t step = (minute->at - overview->from) / overview->span->step_ms;

        if (minute->at < overview->from || step >= overview->span->steps)
            continue;
        sum_add(&overview->points[step], minute);
        sum_add(&overview->total, minute);
    }
    free(minutes.items);
    return true;
}

static json_t *overview_json(struct overview *overview,
                             const struct quern_queues *queues)
{
    json_t *points = json_array(), *list = json_array();

    for (size_t i = 0; i < overview->span->steps; i++) {
        struct quern_minute *point = &overview->points[i];

        point->at = overview->from + i * overview->span->step_ms;
        if (!is_idle(point))
            json_array_append_new(points, sum_json(point));
    }
    for (size_t i = 0; i < queues->count; i++)
        json_array_append_new(list, operate_queue_json(&queues->items[i]));
    overview->total.at = overview->from;
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "span", overview->span->name,
        "step_ms", (json_int_t)overview->span->step_ms, "steps",
        (json_int_t)overview->span->steps, "from", (json_int_t)overview->from,
        "points", points, "total", sum_json(&overview->total), "queues", list);
}

static bool run_overview(struct operate_call *call, struct quern *quern)
{
    const struct overview_span *span = span_named(call->span);
    struct quern_queues queues;
    struct overview *overview;
    bool good = true;

    if (!span)
        return operate_wrong(call, "bad_field",
                             "span: is \"%s\", must be hour, day or week",
                             call->span);
    if (!quern_queues(quern, NULL, &queues, &call->error))
        return false;
    overview = calloc(1, sizeof(*overview));
    if (!overview)
        abort();
    overview->span = span;
    overview->from =
        (access_now_ms() / span->step_ms - (span->steps - 1)) * span->step_ms;
    for (size_t i = 0; i < queues.count && good; i++)
        good = count_queue(overview, quern, queues.items[i].name, &call->error);
    if (good)
        call->answer = overview_json(overview, &queues);
    free(overview);
    free(queues.items);
    return good;
}

void overview_show(struct api_request *request)
{
    operate_call(request, run_overview, NULL);
}
