/* fleet_numbers.c - reads queues and workers, and writes gauges. */
#include "producer/numbers/fleet_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/metrics/metrics.h"

enum { MOST_BYTES = 1 << 20 };

/* What of a queue is a gauge. */
struct depth {
    char name[QUERN_NAME];
    double ready, lane, running, scheduled, dead;
    double wanted, oldest_s, paused, tenants;
};

struct depths {
    struct depth items[FLEET_QUEUES + 1]; /* the last may be "other" */
    size_t count;
};

struct worker_counts {
    double up, waiting, draining, silent;
    double busy, free; /* slots */
};

/* --------------------------------------------------------------- choosing */

bool fleet_serves(const struct quern_worker *worker, const char *queue)
{
    const char *names = worker->queues;
    size_t len = strlen(queue);

    while (*names) {
        size_t there = strcspn(names, ", ");

        if (there == len && strncmp(names, queue, len) == 0)
            return true;
        names += there + strspn(names + there, ", ");
    }
    return false;
}

static bool is_set_up(const struct quern_queue *queue,
                      const struct quern_workers *workers)
{
    for (size_t i = 0; i < workers->count; i++)
        if (fleet_serves(&workers->items[i], queue->name))
            return true;
    return strcmp(queue->name, "default") == 0 || queue->paused ||
           queue->max_depth || queue->tenant_depth || queue->tenant_running ||
           queue->tenant_rate || queue->tenant_tokens || queue->tenant_cost;
}

/* queue="other" is for those without a name: one of that name is among them. */
static bool may_be_named(const struct quern_queue *queue)
{
    return strcmp(queue->name, "other") != 0;
}

/* Notes which of the queues, that come by name, have series of their own. */
static void choose(const struct quern_queues *queues,
                   const struct quern_workers *workers, bool *is_named)
{
    size_t left = FLEET_QUEUES;

    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < queues->count && left > 0; i++)
            if (!is_named[i] && may_be_named(&queues->items[i]) &&
                (turn > 0 || is_set_up(&queues->items[i], workers))) {
                is_named[i] = true;
                left--;
            }
}

/* --------------------------------------------------------------- adding up */

uint64_t fleet_wanted(const struct quern_queue *queue)
{
    return queue->running + (queue->paused ? 0 : queue->waiting);
}

static void depth_add(struct depth *depth, const struct quern_queue *queue)
{
    double oldest_s = (double)queue->oldest_ms / 1000;

    depth->ready += (double)queue->may_start;
    depth->lane += (double)(queue->waiting - queue->may_start);
    depth->running += (double)queue->running;
    depth->scheduled += (double)queue->scheduled;
    depth->dead += (double)queue->dead;
    depth->wanted += (double)fleet_wanted(queue);
    depth->tenants += (double)queue->tenants;
    if (oldest_s > depth->oldest_s)
        depth->oldest_s = oldest_s;
    if (queue->paused)
        depth->paused = 1;
}

static void gather_depths(struct depths *depths,
                          const struct quern_queues *queues,
                          const bool *is_named)
{
    struct depth other = { .name = "other" };
    bool has_other = false;

    for (size_t i = 0; i < queues->count; i++) {
        struct depth *depth = &other;

        if (is_named[i]) {
            depth = &depths->items[depths->count++];
            memcpy(depth->name, queues->items[i].name, sizeof(depth->name));
        }
        has_other = has_other || !is_named[i];
        depth_add(depth, &queues->items[i]);
    }
    if (has_other)
        depths->items[depths->count++] = other;
}

static struct worker_counts count_workers(const struct quern_workers *workers)
{
    struct worker_counts counts = { .silent = (double)workers->silent };

    for (size_t i = 0; i < workers->count; i++) {
        const struct quern_worker *worker = &workers->items[i];
        bool leaves = worker->draining || strcmp(worker->mode, "serving") != 0;

        if (worker->seen_at == 0)
            continue;
        bool waits = !leaves && *worker->executor_away;
        counts.draining += leaves;
        counts.waiting += waits;
        counts.up += !leaves && !waits;
        counts.busy += (double)worker->running;
        if (!leaves && !waits && worker->slots > worker->running)
            counts.free += (double)(worker->slots - worker->running);
    }
    return counts;
}

/* ----------------------------------------------------------------- writing */

/* A gauge that each queue has. */
static const struct queue_gauge {
    const char *name, *help;
    size_t at; /* in struct depth */
} queue_gauges[] = {
    { "queue_wanted_slots",
      "Slots that would have work: ready, lane and running; of a paused queue "
      "only running.",
      offsetof(struct depth, wanted) },
    { "queue_oldest_ready_seconds",
      "How long the first job that may start has been able to; 0: none may.",
      offsetof(struct depth, oldest_s) },
    { "queue_paused", "Whether the queue is paused.",
      offsetof(struct depth, paused) },
    { "queue_tenants_waiting", "Tenants whose jobs wait for their turn.",
      offsetof(struct depth, tenants) },
};

static double value_at(const struct depth *depth, size_t at)
{
    double value;

    memcpy(&value, (const char *)depth + at, sizeof(value));
    return value;
}

static void write_jobs(struct buf *out, const struct depths *depths)
{
    static const struct {
        const char *state;
        size_t at;
    } states[] = {
        { "ready", offsetof(struct depth, ready) },
        { "lane", offsetof(struct depth, lane) },
        { "running", offsetof(struct depth, running) },
        { "scheduled", offsetof(struct depth, scheduled) },
        { "dead", offsetof(struct depth, dead) },
    };

    metrics_write_head(out, "queue_jobs", METRIC_GAUGE,
                       "Jobs. ready: may start; lane: wait for their turn, a "
                       "limit, a session or the end of a pause; scheduled: "
                       "continue later.");
    for (size_t i = 0; i < depths->count; i++)
        for (size_t j = 0; j < sizeof(states) / sizeof(states[0]); j++)
            metrics_write_sample(
                out, "queue_jobs", value_at(&depths->items[i], states[j].at),
                (const char *[]){ "queue", depths->items[i].name, "state",
                                  states[j].state, NULL });
}

static void write_queue_gauge(struct buf *out, const struct depths *depths,
                              const struct queue_gauge *gauge)
{
    metrics_write_head(out, gauge->name, METRIC_GAUGE, gauge->help);
    for (size_t i = 0; i < depths->count; i++)
        metrics_write_sample(
            out, gauge->name, value_at(&depths->items[i], gauge->at),
            (const char *[]){ "queue", depths->items[i].name, NULL });
}

static void write_state(struct buf *out, const char *name, const char *state,
                        double value)
{
    metrics_write_sample(out, name, value,
                         (const char *[]){ "state", state, NULL });
}

static void write_workers(struct buf *out, struct worker_counts counts)
{
    metrics_write_head(out, "workers", METRIC_GAUGE,
                       "Consumers. no_executor: it is away; silent: gone "
                       "without leave, within a day.");
    write_state(out, "workers", "up", counts.up);
    write_state(out, "workers", "no_executor", counts.waiting);
    write_state(out, "workers", "draining", counts.draining);
    write_state(out, "workers", "silent", counts.silent);
    metrics_write_head(out, "worker_slots", METRIC_GAUGE,
                       "Jobs that the consumers run, and those that they could "
                       "run besides.");
    write_state(out, "worker_slots", "busy", counts.busy);
    write_state(out, "worker_slots", "free", counts.free);
}

static void write_gauges(struct buf *out, const struct quern_queues *queues,
                         const struct quern_workers *workers)
{
    struct depths depths = { .count = 0 };
    CLEANUP(cleanup_free)
    bool *is_named = calloc(queues->count + 1, sizeof(bool));

    if (!is_named)
        abort();
    choose(queues, workers, is_named);
    gather_depths(&depths, queues, is_named);
    write_jobs(out, &depths);
    for (size_t i = 0; i < sizeof(queue_gauges) / sizeof(queue_gauges[0]); i++)
        write_queue_gauge(out, &depths, &queue_gauges[i]);
    write_workers(out, count_workers(workers));
}

/* -------------------------------------------------------------- collecting */

void fleet_numbers_init(struct fleet_numbers *numbers)
{
    *numbers = (struct fleet_numbers){ .errors = 0 };
    buf_init(&numbers->gauges, MOST_BYTES);
}

void fleet_numbers_finish(struct fleet_numbers *numbers)
{
    buf_finish(&numbers->gauges);
}

bool fleet_numbers_collect(struct fleet_numbers *numbers, struct quern *quern,
                           struct quern_error *error)
{
    struct quern_queues queues = { 0 };
    struct quern_workers workers = { 0 };
    bool good = quern_queues(quern, NULL, &queues, error) &&
                quern_workers(quern, &workers, error);

    buf_clear(&numbers->gauges);
    if (good)
        write_gauges(&numbers->gauges, &queues, &workers);
    else
        numbers->errors++;
    free(queues.items);
    quern_workers_free(&workers);
    return good;
}

void fleet_numbers_write(const struct fleet_numbers *numbers, struct buf *out)
{
    buf_add(out, buf_view(&numbers->gauges));
    metrics_write_head(out, "collect_errors_total", METRIC_COUNTER,
                       "Times that Redis could not be asked for them; then "
                       "they are left out.");
    metrics_write_sample(out, "collect_errors_total", (double)numbers->errors,
                         NULL);
}
