/* doctor_fleet.c - does every queue have consumers that can run its jobs? By
 * what the consumers report. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/doctor.h"
#include "producer/numbers/fleet_numbers.h"

/* --- queues --------------------------------------------------------------- */

/* The consumers that name a queue among theirs. */
struct serving_counts {
    size_t able;    /* they claim its jobs */
    size_t unable;  /* their executors are away */
    size_t leaving; /* they drain, or claim nothing */
};

static struct serving_counts count_serving(const struct quern_workers *workers,
                                           const char *queue)
{
    struct serving_counts all = { 0 };

    for (size_t i = 0; i < workers->count; i++) {
        const struct quern_worker *worker = &workers->items[i];

        if (worker->seen_at == 0 || !fleet_serves(worker, queue))
            continue;
        if (worker->draining || strcmp(worker->mode, "serving") != 0)
            all.leaving++;
        else if (*worker->executor_away)
            all.unable++;
        else
            all.able++;
    }
    return all;
}

static void find_unserved(struct doctor *doctor,
                          const struct quern_queue *queue,
                          struct serving_counts by)
{
    char remedy[QUERN_NAME + 80], why[80] = "";

    snprintf(remedy, sizeof(remedy), "start one: quern-consumer --queues %s",
             queue->name);
    if (by.unable > 0)
        snprintf(why, sizeof(why),
                 ": %zu of its consumers cannot reach %s "
                 "executor",
                 by.unable, by.unable == 1 ? "its" : "their");
    else if (by.leaving > 0)
        snprintf(why, sizeof(why), ": %zu of its consumers take%s no more jobs",
                 by.leaving, by.leaving == 1 ? "s" : "");
    find(doctor, FAULT, "queues",
         by.unable > 0    ? "start their executors again, see below"
         : by.leaving > 0 ? "quern worker resume NAME, or start another one"
                          : remedy,
         "%" PRIu64 " job%s wait%s at queue %s, and no consumer takes %s%s",
         queue->waiting, queue->waiting == 1 ? "" : "s",
         queue->waiting == 1 ? "s" : "", queue->name,
         queue->waiting == 1 ? "it" : "them", why);
}

static void find_paused(struct doctor *doctor, const struct quern_queue *queue)
{
    char remedy[QUERN_NAME + 80];

    snprintf(remedy, sizeof(remedy), "quern queue resume %s", queue->name);
    find(doctor, WARNING, "queues", remedy,
         "queue %s is paused, and %" PRIu64 " job%s wait%s for that to end",
         queue->name, queue->waiting, queue->waiting == 1 ? "" : "s",
         queue->waiting == 1 ? "s" : "");
}

enum { LONG_MS = 2 * 60 * 1000 };

/* Of consumers that claim jobs of the queue. */
static uint64_t count_room(const struct quern_workers *workers,
                           const char *queue)
{
    uint64_t room = 0;

    for (size_t i = 0; i < workers->count; i++) {
        const struct quern_worker *worker = &workers->items[i];

        if (worker->seen_at > 0 && !worker->draining &&
            strcmp(worker->mode, "serving") == 0 && !*worker->executor_away &&
            fleet_serves(worker, queue) && worker->slots > worker->running)
            room += worker->slots - worker->running;
    }
    return room;
}

/* A job may start, there is room for it, and still nobody takes it. */
static bool find_stalled(struct doctor *doctor, const struct quern_queue *queue)
{
    uint64_t room = count_room(&doctor->workers, queue->name);

    if (queue->oldest_ms < LONG_MS || room == 0)
        return false;
    find(doctor, WARNING, "queues",
         "look at the consumers' logs; restart one that says nothing",
         "a job of queue %s has waited for %s while its consumers have room "
         "for %" PRIu64,
         queue->name, term_age(queue->oldest_ms), room);
    return true;
}

/* Its jobs that wait for a budget or for an endpoint. */
static void find_resting(struct doctor *doctor, const struct quern_queue *queue)
{
    uint64_t budget = queue->held_by_budget, rest = queue->held_by_endpoint;
    char remedy[QUERN_NAME + 100];

    snprintf(remedy, sizeof(remedy),
             "wait, or raise tenant_tokens and tenant_cost: quern queue set %s",
             queue->name);
    if (budget > 0)
        find(doctor, NOTE, "budgets", remedy,
             "%" PRIu64 " job%s of queue %s wait%s for the tenant's next "
             "budget",
             budget, budget == 1 ? "" : "s", queue->name,
             budget == 1 ? "s" : "");
    if (rest > 0)
        find(doctor, NOTE, "endpoints", "wait, or see quern endpoint ls",
             "%" PRIu64 " job%s of queue %s wait%s for a model endpoint that "
             "is left alone",
             rest, rest == 1 ? "" : "s", queue->name, rest == 1 ? "s" : "");
}

static void check_queues(struct doctor *doctor,
                         const struct quern_queues *queues,
                         const struct quern_workers *workers)
{
    size_t wrong = 0;

    for (size_t i = 0; i < queues->count; i++) {
        const struct quern_queue *queue = &queues->items[i];
        struct serving_counts by = count_serving(workers, queue->name);

        if (queue->waiting == 0)
            continue;
        if (queue->paused)
            find_paused(doctor, queue);
        else if (by.able == 0)
            find_unserved(doctor, queue, by);
        wrong += queue->paused || by.able == 0 || find_stalled(doctor, queue);
    }
    if (wrong == 0)
        find(doctor, FINE, "queues", NULL,
             "%zu, and every job that waits has a consumer", queues->count);
}

/* --- executors ------------------------------------------------------------ */

static const char *remedy_for(const struct quern_worker *worker)
{
    static const struct {
        const char *word, *remedy;
    } all[] = {
        { "absent", "on that host: systemctl start quern-executor; or name its "
                    "socket in QUERN_EXECUTOR of the consumer" },
        { "refused", "on that host: systemctl restart quern-executor; its log "
                     "says why it ended" },
        { "not permitted", "on that host: put the consumer's user into the "
                           "socket's group (quern), or correct the folder's "
                           "mode" },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(worker->executor_away, all[i].word) == 0)
            return all[i].remedy;
    return "on that host: look at the log of quern-executor";
}

/* Whether its executor is there; false also for one that is set up without. */
static bool has_executor(const struct quern_worker *worker)
{
    return worker->seen_at > 0 && *worker->executor_away == '\0' &&
           strcmp(worker->executor, "none") != 0;
}

static void check_executors(struct doctor *doctor,
                            const struct quern_workers *workers)
{
    size_t there = 0, away = 0;

    for (size_t i = 0; i < workers->count; i++) {
        away += *workers->items[i].executor_away != '\0';
        there += has_executor(&workers->items[i]);
    }
    for (size_t i = 0; i < workers->count; i++) {
        const struct quern_worker *worker = &workers->items[i];
        uint64_t since = worker->executor_away_since;

        if (*worker->executor_away == '\0')
            continue;
        find(doctor, there > 0 ? WARNING : FAULT, "executors",
             remedy_for(worker),
             "of worker %s on %s, %s: %s for %s (%s); it takes no jobs",
             worker->name, worker->host, worker->executor,
             worker->executor_away,
             term_age(workers->now > since ? workers->now - since : 0),
             worker->executor_reason);
    }
    if (away == 0 && there > 0)
        find(doctor, FINE, "executors", NULL, "%zu worker%s %s", there,
             there == 1 ? "" : "s", there == 1 ? "has its own" : "have theirs");
}

/* --- endpoints ------------------------------------------------------------ */

enum { LATELY_MS = 60 * 60 * 1000 };

/* Each is left alone: no job goes on before that ends. */
static void find_all_open(struct doctor *doctor,
                          const struct quern_endpoints *endpoints)
{
    uint64_t least_ms = UINT64_MAX;

    for (size_t i = 0; i < endpoints->count; i++)
        if (endpoints->items[i].wait_ms < least_ms)
            least_ms = endpoints->items[i].wait_ms;
    if (endpoints->count == 0 || least_ms == 0)
        return;
    find(doctor, FAULT, "endpoints",
         "quern endpoint ls says why; consumers ask again by themselves",
         "all %zu are left alone, since they failed or asked for it; the next "
         "one is asked in %s",
         endpoints->count, term_time(least_ms));
}

static const char *endpoint_remedy(const struct quern_endpoint *endpoint)
{
    if (strstr(endpoint->error, "401"))
        return "give the consumers its key (OPENAI_API_KEY, "
               "OPENAI_API_KEY_FILE, or key in QUERN_MODELS), then HUP them";
    if (strcmp(endpoint->error_code, "model_rejected") == 0)
        return "correct its URL, key or model in the consumers' settings, then "
               "HUP them";
    return "look at the endpoint; jobs try again by themselves";
}

/* Finds endpoints whose last request had no reply, when that was lately. */
static void check_endpoints(struct doctor *doctor,
                            const struct quern_endpoints *endpoints)
{
    size_t failing = 0;

    for (size_t i = 0; i < endpoints->count; i++) {
        const struct quern_endpoint *endpoint = &endpoints->items[i];
        uint64_t at = endpoint->failed_at;

        if (at <= endpoint->answered_at || at + LATELY_MS < endpoints->now)
            continue;
        failing++;
        find(doctor, WARNING, "endpoints", endpoint_remedy(endpoint),
             "%s (%s at %s): the last request failed %s ago: %s (%s)",
             endpoint->name, endpoint->model, endpoint->host,
             term_age(endpoints->now > at ? endpoints->now - at : 0),
             endpoint->error, endpoint->error_code);
    }
    if (failing == 0 && endpoints->count > 0)
        find(doctor, FINE, "endpoints", NULL, "%zu, %s", endpoints->count,
             endpoints->count == 1 ? "which answers" : "all answer");
}

/* --- webhooks ------------------------------------------------------------- */

enum { UNTOLD_MS = 60 * 1000 };

static void check_hooks(struct doctor *doctor, struct quern *quern)
{
    struct quern_error error;
    uint64_t oldest_ms;

    if (quern_hooks_waiting(quern, &oldest_ms, &error) && oldest_ms > UNTOLD_MS)
        find(doctor, WARNING, "webhooks",
             "start quern-deliverer; what is older than a week is not told",
             "the end of a job has waited for %s to be told",
             term_age(oldest_ms));
}

/* --- all ------------------------------------------------------------------ */

static bool reports_read(struct doctor *doctor, struct quern_error *error)
{
    const struct options *given = &doctor->app->options;
    const struct quern_options options = { .url = given->redis_url,
                                           .prefix = given->prefix,
                                           .timeout_ms = DOCTOR_CALL_MS,
                                           .role = "doctor" };

    doctor->quern = quern_open(&options, error);
    return doctor->quern &&
           quern_workers(doctor->quern, &doctor->workers, error) &&
           quern_queues(doctor->quern, NULL, &doctor->queues, error);
}

static void reports_check(struct doctor *doctor)
{
    struct quern_endpoints endpoints = { 0 };
    struct quern_error error;

    check_queues(doctor, &doctor->queues, &doctor->workers);
    for (size_t i = 0; i < doctor->queues.count; i++)
        find_resting(doctor, &doctor->queues.items[i]);
    check_workers(doctor);
    check_executors(doctor, &doctor->workers);
    check_leases(doctor);
    check_dead(doctor);
    if (quern_endpoints(doctor->quern, &endpoints, &error)) {
        find_all_open(doctor, &endpoints);
        check_endpoints(doctor, &endpoints);
    }
    check_hooks(doctor, doctor->quern);
    free(endpoints.items);
}

/* By a handle of its own, since the calls of quern_operate.h need one and
 * doctor has opened none: it works on connections. The handle would load the
 * library, and doctor must change nothing: without the library nothing is
 * asked. */
void check_reports(struct doctor *doctor)
{
    struct quern_error error;

    if (doctor->bare)
        return;
    if (reports_read(doctor, &error))
        reports_check(doctor);
    else
        find(doctor, UNSEEN, "queues", remedy_of(doctor, error.text), "%s",
             error.text);
    quern_workers_free(&doctor->workers);
    free(doctor->queues.items);
    quern_close(doctor->quern);
}
