/* worker.c - quern_workers(): consumers by their own reports; quern_drain(). A
 * consumer reports in every partition that it serves: the latest report counts,
 * and the jobs of all of them are put together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/redis/operate.h"

static struct quern_worker *find_worker(struct quern_workers *workers,
                                        struct view name)
{
    struct quern_worker *worker;

    for (size_t i = 0; i < workers->count; i++)
        if (view_is(name, workers->items[i].name))
            return &workers->items[i];
    workers->items =
        list_grow(workers->items, workers->count, sizeof(*workers->items));
    worker = &workers->items[workers->count++];
    view_copy(worker->name, sizeof(worker->name), name);
    return worker;
}

/* NULL where there is none. */
static void copy_text(char **text, struct view from)
{
    free(*text);
    *text = from.len > 0 ? view_dup(from) : NULL;
}

static void read_report(const redisReply *hash, struct quern_worker *worker)
{
    view_copy(worker->host, sizeof(worker->host), reply_field(hash, "host"));
    view_copy(worker->version, sizeof(worker->version),
              reply_field(hash, "version"));
    view_copy(worker->mode, sizeof(worker->mode), reply_field(hash, "mode"));
    view_copy(worker->queues, sizeof(worker->queues),
              reply_field(hash, "queues"));
    worker->pid = reply_field_number(hash, "pid");
    worker->slots = reply_field_number(hash, "slots");
    worker->running = reply_field_number(hash, "running");
    worker->started_at = reply_field_number(hash, "started_at");
    view_copy(worker->executor, sizeof(worker->executor),
              reply_field(hash, "executor"));
    view_copy(worker->executor_away, sizeof(worker->executor_away),
              reply_field(hash, "executor_away"));
    view_copy(worker->executor_reason, sizeof(worker->executor_reason),
              reply_field(hash, "executor_reason"));
    worker->executor_away_since =
        reply_field_number(hash, "executor_away_since");
    worker->clock = reply_field_number(hash, "clock");
    worker->drain_ms = reply_field_number(hash, "drain");
    worker->grace_ms = reply_field_number(hash, "grace");
    copy_text(&worker->models, reply_field(hash, "models"));
    copy_text(&worker->settings, reply_field(hash, "settings"));
}

/* A report names the jobs that run in its own partition. */
static void add_jobs(const redisReply *hash, struct quern_worker *worker)
{
    struct view jobs = reply_field(hash, "jobs");
    char *all;

    if (jobs.len == 0 ||
        asprintf(&all, "%s%s%.*s", worker->jobs ? worker->jobs : "",
                 worker->jobs ? " " : "", VIEW_ARG(jobs)) < 0)
        return;
    free(worker->jobs);
    worker->jobs = all;
}

/* Marks those that are to drain. The mark stays with the name while no consumer
 * of that name lives: so names that have not reported are added. */
static bool read_drained(struct quern *quern, unsigned int partition,
                         struct quern_workers *workers, struct err *err)
{
    struct key key = names_of_root(&quern->fleet->names, partition, "drained");
    CLEANUP(cleanup_reply)
    redisReply *names =
        FLEET_READ(quern, partition, "ZRANGE", &key, err, "0", "-1");

    for (size_t i = 0; names && i < names->elements; i++)
        find_worker(workers, reply_view(names->element[i]))->draining = true;
    return names;
}

/* Reads the reports of one partition. A consumer that has fallen silent is
 * still in the set, but its hash has expired. */
static bool worker_read_partition(struct quern *quern, unsigned int partition,
                                  struct quern_workers *workers,
                                  struct err *err)
{
    struct key key = names_of_root(&quern->fleet->names, partition, "workers");
    CLEANUP(cleanup_reply)
    redisReply *listed = FLEET_READ(quern, partition, "ZRANGE", &key, err, "0",
                                    "-1", "WITHSCORES");

    for (size_t i = 0; listed && i + 1 < listed->elements; i += 2) {
        struct view name = reply_view(listed->element[i]);
        uint64_t seen_at = reply_number(listed->element[i + 1]);
        struct quern_worker *worker;

        if (name.len == 0 || name.len >= QUERN_NAME)
            continue;
        struct key report = names_worker(&quern->fleet->names, partition, name);
        CLEANUP(cleanup_reply)
        redisReply *hash = fleet_read(quern, partition, "HGETALL", &report,
                                      (const char *const[]){ NULL }, err);

        if (!hash)
            return false;
        worker = find_worker(workers, name);
        if (hash->elements == 0) {
            worker->silent = true;
            continue;
        }
        add_jobs(hash, worker);
        if (seen_at >= worker->seen_at)
            read_report(hash, worker);
        if (seen_at > worker->seen_at)
            worker->seen_at = seen_at;
    }
    return listed;
}

/* Counts those that report in no partition; leaves them out, but for those that
 * are to drain. */
static void leave_out_silent(struct quern_workers *workers)
{
    size_t kept = 0;

    for (size_t i = 0; i < workers->count; i++) {
        struct quern_worker *worker = &workers->items[i];

        worker->silent = worker->silent && worker->seen_at == 0;
        workers->silent += worker->silent;
        if (!worker->silent || worker->draining)
            workers->items[kept++] = *worker;
    }
    workers->count = kept;
}

static int worker_by_name(const void *a, const void *b)
{
    const struct quern_worker *one = a, *other = b;

    return strcmp(one->name, other->name);
}

static bool read_workers(struct quern *quern, struct quern_workers *workers,
                         struct err *err)
{
    unsigned int partitions;

    if (!handle_partitions(quern, &partitions, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++)
        if (!worker_read_partition(quern, p, workers, err) ||
            !read_drained(quern, p, workers, err))
            return false;
    leave_out_silent(workers);
    if (workers->count > 0)
        qsort(workers->items, workers->count, sizeof(*workers->items),
              worker_by_name);
    return fleet_now(quern, &workers->now, err);
}

bool quern_workers(struct quern *quern, struct quern_workers *workers,
                   struct quern_error *error)
{
    struct err err = { 0 };

    *workers = (struct quern_workers){ 0 };
    if (read_workers(quern, workers, &err))
        return true;
    quern_workers_free(workers);
    return handle_fail(error, &err);
}

void quern_workers_free(struct quern_workers *workers)
{
    for (size_t i = 0; i < workers->count; i++) {
        free(workers->items[i].jobs);
        free(workers->items[i].models);
        free(workers->items[i].settings);
    }
    free(workers->items);
    *workers = (struct quern_workers){ 0 };
}

static bool is_worker_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len < QUERN_NAME &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                        "0123456789._:@-") == len;
}

/* In every partition. A consumer may serve some of them only: it is an error
 * only when no partition knows the name. */
static bool drain_in_all(struct quern *quern, const char *worker, bool drain,
                         struct err *err)
{
    unsigned int partitions = 0, known = 0;

    if (is_worker_name(worker) && !handle_partitions(quern, &partitions, err))
        return false;
    for (unsigned int p = 0; is_worker_name(worker) && p < partitions; p++) {
        struct command command;
        CLEANUP(cleanup_reply) redisReply *reply = NULL;

        transition_drain(&command, &quern->fleet->names, p, view_of(worker),
                         drain);
        reply = handle_write(quern, p, &command, err);
        command_finish(&command);
        if (!reply && strcmp(err->code, "unknown_job") != 0)
            return false;
        known += reply != NULL;
    }
    return known > 0 ||
           err_set(err, ERR_REJECT, "unknown_worker",
                   "no worker \"%.64s\" has reported lately: see quern worker "
                   "ls",
                   worker);
}

bool quern_drain(struct quern *quern, const char *worker, bool drain,
                 struct quern_error *error)
{
    struct err err = { 0 };

    return drain_in_all(quern, worker, drain, &err) || handle_fail(error, &err);
}
