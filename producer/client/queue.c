/* queue.c - queues: how many jobs each has, its settings and limits, and
 * purging one. A queue has a part in each partition: counts are added up,
 * settings are written to all of them. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/redis/operate.h"

enum { PURGE_STEP = 100 }; /* jobs in a call: it holds Redis for some ms */

static struct quern_queue *find_queue(struct quern_queues *queues,
                                      struct view name)
{
    struct quern_queue *queue;

    for (size_t i = 0; i < queues->count; i++)
        if (view_is(name, queues->items[i].name))
            return &queues->items[i];
    queues->items =
        list_grow(queues->items, queues->count, sizeof(*queues->items));
    queue = &queues->items[queues->count++];
    view_copy(queue->name, sizeof(queue->name), name);
    return queue;
}

/* Adds the queues of one partition to those that were found so far. */
static bool read_names(struct quern *quern, unsigned int partition,
                       struct quern_queues *queues, struct err *err)
{
    struct key key = names_of_root(&quern->fleet->names, partition, "queues");
    CLEANUP(cleanup_reply)
    redisReply *reply = fleet_read(quern, partition, "SMEMBERS", &key,
                                   (const char *const[]){ NULL }, err);

    for (size_t i = 0; reply && i < reply->elements; i++)
        if (check_name("queue", reply_view(reply->element[i]), NULL))
            find_queue(queues, reply_view(reply->element[i]));
    return reply;
}

/* Adds the counts of one partition. A paused queue is paused in all of them,
 * but setting it may have failed half-way: one is enough to call it paused. */
static bool add_stats(struct quern *quern, unsigned int partition,
                      struct quern_queue *queue, struct err *err)
{
    struct queue_stats stats;
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_stats(&command, &quern->fleet->names, partition,
                     view_of(queue->name));
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    if (!reply || !transition_stated(reply, &stats, err))
        return false;
    queue->paused = queue->paused || stats.paused;
    queue->waiting += stats.ready + stats.lanes;
    if (!stats.paused)
        queue->may_start += stats.ready;
    queue->running += stats.running;
    queue->scheduled += stats.scheduled;
    queue->held_by_budget += stats.budget;
    queue->held_by_endpoint += stats.endpoint;
    queue->dead += stats.dead;
    queue->tenants += stats.tenants;
    if (stats.oldest_ms > queue->oldest_ms)
        queue->oldest_ms = stats.oldest_ms;
    if (stats.waits_ms > queue->waits_ms)
        queue->waits_ms = stats.waits_ms;
    return true;
}

/* From partition 0: set_settings() writes the same to all of them. */
static bool read_settings(struct quern *quern, struct quern_queue *queue,
                          struct err *err)
{
    struct key key =
        names_of_queue(&quern->fleet->names, 0, "queue", view_of(queue->name));
    CLEANUP(cleanup_reply)
    redisReply *hash = fleet_read(quern, 0, "HGETALL", &key,
                                  (const char *const[]){ NULL }, err);

    if (!hash)
        return false;
    queue->max_depth = reply_field_number(hash, "max_depth");
    queue->tenant_depth = reply_field_number(hash, "tenant_depth");
    queue->tenant_running = reply_field_number(hash, "tenant_running");
    queue->tenant_rate = reply_field_number(hash, "tenant_rate");
    queue->tenant_rate_ms = reply_field_number(hash, "tenant_rate_ms");
    queue->tenant_tokens = reply_field_number(hash, "tenant_tokens");
    queue->tenant_cost = reply_field_number(hash, "tenant_cost");
    queue->tenant_budget_ms = reply_field_number(hash, "tenant_budget_ms");
    return true;
}

static int queue_by_name(const void *a, const void *b)
{
    const struct quern_queue *one = a, *other = b;

    return strcmp(one->name, other->name);
}

static bool read_queues(struct quern *quern, const char *name,
                        struct quern_queues *queues, struct err *err)
{
    unsigned int partitions;

    if ((name && !check_name("queue", view_of(name), err)) ||
        !handle_partitions(quern, &partitions, err))
        return false;
    if (name)
        find_queue(queues, view_of(name));
    for (unsigned int p = 0; !name && p < partitions; p++)
        if (!read_names(quern, p, queues, err))
            return false;
    for (size_t i = 0; i < queues->count; i++) {
        if (!read_settings(quern, &queues->items[i], err))
            return false;
        for (unsigned int p = 0; p < partitions; p++)
            if (!add_stats(quern, p, &queues->items[i], err))
                return false;
    }
    if (queues->count > 0)
        qsort(queues->items, queues->count, sizeof(*queues->items),
              queue_by_name);
    return true;
}

bool quern_queues(struct quern *quern, const char *name,
                  struct quern_queues *queues, struct quern_error *error)
{
    struct err err = { 0 };

    *queues = (struct quern_queues){ 0 };
    if (read_queues(quern, name, queues, &err))
        return true;
    free(queues->items);
    *queues = (struct quern_queues){ 0 };
    return handle_fail(error, &err);
}

/* --- settings ------------------------------------------------------------- */

/* "tenant_running", or "tenant_running:acme" of one tenant: only settings of
 * tenants may name one. */
static bool is_setting(struct view name)
{
    static const char *const names[] = { "paused",          "max_depth",
                                         "tenant_depth",    "tenant_running",
                                         "tenant_rate",     "tenant_rate_ms",
                                         "tenant_tokens",   "tenant_cost",
                                         "tenant_budget_ms" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t len = strlen(names[i]);

        if (view_is(name, names[i]) ||
            (view_starts(name, names[i]) && name.len > len &&
             name.data[len] == ':' && view_starts(name, "tenant_")))
            return true;
    }
    return false;
}

static bool check_settings(const struct queue_setting *settings, size_t count,
                           struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!is_setting(settings[i].name))
            return err_set(err, ERR_REJECT, "bad_field",
                           "there is no setting \"%.*s\": paused, max_depth, "
                           "tenant_depth, tenant_running, tenant_rate, "
                           "tenant_rate_ms, tenant_tokens, tenant_cost, "
                           "tenant_budget_ms",
                           VIEW_ARG(view_head(settings[i].name, 64)));
    return true;
}

static bool set_settings(struct quern *quern, struct view queue,
                         const struct queue_setting *settings, size_t count,
                         struct err *err)
{
    unsigned int partitions;

    if (!check_name("queue", queue, err) ||
        !check_settings(settings, count, err) ||
        !handle_partitions(quern, &partitions, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++) {
        struct command command;
        CLEANUP(cleanup_reply) redisReply *reply = NULL;

        transition_queue_set(&command, &quern->fleet->names, p, queue, settings,
                             count);
        reply = handle_write(quern, p, &command, err);
        command_finish(&command);
        if (!reply)
            return false;
    }
    return true;
}

bool quern_queue_set(struct quern *quern, const char *queue,
                     const struct quern_pair *pairs, size_t count,
                     struct quern_error *error)
{
    CLEANUP(cleanup_free)
    struct queue_setting *settings = calloc(count + 1, sizeof(*settings));
    struct err err = { 0 };

    if (!settings)
        abort();
    for (size_t i = 0; i < count; i++)
        settings[i] = (struct queue_setting){ view_of(pairs[i].key),
                                              view_of(pairs[i].value) };
    return set_settings(quern, view_of(queue), settings, count, &err) ||
           handle_fail(error, &err);
}

/* --- what is set of it ---------------------------------------------------- */

static bool is_in_partition(struct quern *quern, unsigned int partition,
                            const char *queue, bool *known, struct err *err)
{
    struct key all = names_of_root(&quern->fleet->names, partition, "queues");
    struct key settings = names_of_queue(&quern->fleet->names, partition,
                                         "queue", view_of(queue));
    CLEANUP(cleanup_reply)
    redisReply *member =
        FLEET_READ(quern, partition, "SISMEMBER", &all, err, queue);
    CLEANUP(cleanup_reply)
    redisReply *set = member ? fleet_read(quern, partition, "EXISTS", &settings,
                                          (const char *const[]){ NULL }, err)
                             : NULL;

    if (!set)
        return false;
    *known = reply_number(member) > 0 || reply_number(set) > 0;
    return true;
}

bool quern_queue_is_known(struct quern *quern, const char *queue, bool *known,
                          struct quern_error *error)
{
    struct err err = { 0 };
    unsigned int partitions;

    *known = strcmp(queue, "default") == 0;
    if (!check_name("queue", view_of(queue), &err) ||
        !handle_partitions(quern, &partitions, &err))
        return handle_fail(error, &err);
    for (unsigned int p = 0; !*known && p < partitions; p++)
        if (!is_in_partition(quern, p, queue, known, &err))
            return handle_fail(error, &err);
    return true;
}

static int by_tenant(const void *a, const void *b)
{
    const struct quern_tenant_limit *one = a, *other = b;
    int order = strcmp(one->tenant, other->tenant);

    return order != 0 ? order : strcmp(one->setting, other->setting);
}

/* "tenant_running:acme". */
static void add_limit(struct quern_tenant_limits *limits, struct view name,
                      uint64_t value)
{
    struct quern_tenant_limit *limit;
    char tenant[MAX_NAME_BYTES + 1];
    const char *colon = memchr(name.data, ':', name.len);
    size_t len = colon ? (size_t)(colon - name.data) : 0;

    if (!colon || len >= sizeof(limit->setting) ||
        !names_decode((struct view){ colon + 1, name.len - len - 1 }, tenant))
        return;
    limits->items =
        list_grow(limits->items, limits->count, sizeof(*limits->items));
    limit = &limits->items[limits->count++];
    view_copy(limit->setting, sizeof(limit->setting),
              (struct view){ name.data, len });
    view_copy(limit->tenant, sizeof(limit->tenant), view_of(tenant));
    limit->value = value;
}

bool quern_tenant_limits(struct quern *quern, const char *queue,
                         struct quern_tenant_limits *limits,
                         struct quern_error *error)
{
    struct key key =
        names_of_queue(&quern->fleet->names, 0, "queue", view_of(queue));
    struct err err = { 0 };

    *limits = (struct quern_tenant_limits){ 0 };
    if (!check_name("queue", view_of(queue), &err))
        return handle_fail(error, &err);
    CLEANUP(cleanup_reply)
    redisReply *hash = fleet_read(quern, 0, "HGETALL", &key,
                                  (const char *const[]){ NULL }, &err);

    if (!hash)
        return handle_fail(error, &err);
    for (size_t i = 0; i + 1 < hash->elements; i += 2)
        add_limit(limits, reply_view(hash->element[i]),
                  reply_number(hash->element[i + 1]));
    if (limits->count > 1)
        qsort(limits->items, limits->count, sizeof(*limits->items), by_tenant);
    return true;
}

/* --- emptying one --------------------------------------------------------- */

static bool purge_step(struct quern *quern, unsigned int partition,
                       struct view queue, bool dry, uint64_t *jobs, bool *more,
                       struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_purge(&command, &quern->fleet->names, partition, queue,
                     PURGE_STEP, dry);
    reply = handle_write(quern, partition, &command, err);
    command_finish(&command);
    return reply && transition_purged(reply, jobs, more, err);
}

bool quern_purge(struct quern *quern, const char *queue, bool dry,
                 uint64_t *jobs, bool *more, struct quern_error *error)
{
    unsigned int partitions;
    struct err err = { 0 };

    *jobs = 0;
    *more = false;
    if (!check_name("queue", view_of(queue), &err) ||
        !handle_partitions(quern, &partitions, &err))
        return handle_fail(error, &err);
    for (unsigned int p = 0; p < partitions; p++) {
        uint64_t here = 0;
        bool left = false;

        if (!purge_step(quern, p, view_of(queue), dry, &here, &left, &err))
            return handle_fail(error, &err);
        *jobs += here;
        *more = *more || (left && !dry);
    }
    return true;
}
