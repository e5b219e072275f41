/* tenant.c - quern_tenants(): what each tenant runs, has waiting and has spent,
 * and its limits.
 *
 * Redis has no list of tenants. They are found where they leave a trace: in
 * lanes, in jobs that are listed, in the tokens of the day, in limits of their
 * own. */
#include <assert.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/redis/listing.h"

enum { DAY_MS = 86400000 };

/* The list that is being made, and the queue whose tenants are added. */
struct tenant_census {
    struct quern *quern;
    struct quern_tenants *found;
    const char *queue; /* that is counted */
};

/* name: as applications call it. */
static struct quern_tenant *find_tenant(struct tenant_census *census,
                                        struct view name)
{
    struct quern_tenants *found = census->found;
    struct quern_tenant *tenant;

    assert(found->count == 0 || found->items);

    /* Those of a queue stand together, behind those of the queues before. */
    for (size_t i = found->count; i > 0; i--) {
        tenant = &found->items[i - 1];
        if (strcmp(tenant->queue, census->queue) != 0)
            break;
        if (view_is(name, tenant->name))
            return tenant;
    }
    found->items = list_grow(found->items, found->count, sizeof(*found->items));
    tenant = &found->items[found->count++];
    view_copy(tenant->name, sizeof(tenant->name), name);
    view_copy(tenant->queue, sizeof(tenant->queue), view_of(census->queue));
    return tenant;
}

/* --- jobs ------------------------------------------------------------------
 */

/* Of its name as it stands in keys and fields; NULL: that is none. */
static struct quern_tenant *find_encoded(struct tenant_census *census,
                                         struct view encoded)
{
    char name[MAX_NAME_BYTES + 1];

    return names_decode(encoded, name) ? find_tenant(census, view_of(name))
                                       : NULL;
}

/* Adds the jobs that wait in lanes, which Redis counts by tenant. */
static bool count_lanes(struct tenant_census *census, unsigned int partition,
                        struct err *err)
{
    struct key key = names_of_queue(&census->quern->fleet->names, partition,
                                    "lanes", view_of(census->queue));
    CLEANUP(cleanup_reply)
    redisReply *hash = fleet_read(census->quern, partition, "HGETALL", &key,
                                  (const char *const[]){ NULL }, err);

    for (size_t i = 0; hash && i + 1 < hash->elements; i += 2) {
        uint64_t waiting = reply_number(hash->element[i + 1]);
        struct quern_tenant *tenant =
            waiting > 0 ? find_encoded(census, reply_view(hash->element[i]))
                        : NULL;

        if (tenant)
            tenant->waiting += waiting;
    }
    return hash;
}

static bool count_rows(struct tenant_census *census, const redisReply *reply,
                       size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct quern_tenant *tenant;
        struct job_row row;

        if (!transition_job_row(reply, i, &row, err))
            return false;
        tenant = find_tenant(census, row.tenant);
        if (view_is(row.place, "running"))
            tenant->running++;
        else if (view_is(row.place, "later"))
            tenant->scheduled++;
        else
            tenant->waiting++;
    }
    return true;
}

/* Counts the jobs that have not ended, but for those in lanes: of these there
 * may be very many, and Redis has their number (count_lanes()). */
static bool tenant_count_jobs(struct tenant_census *census,
                              unsigned int partition, struct err *err)
{
    const struct job_filter filter = {
        .places = VIEW("running stream behind later"),
        .queue = view_of(census->queue),
    };
    CLEANUP(buf_finish) struct buf cursor;

    buf_init(&cursor, 4096);
    for (;;) {
        struct command command;
        CLEANUP(cleanup_reply) redisReply *reply = NULL;
        struct view next;
        size_t rows;

        transition_jobs(&command, &census->quern->fleet->names, partition,
                        buf_view(&cursor), LISTING_MOST_ROWS, &filter);
        reply = handle_call(census->quern, partition, &command, err);
        command_finish(&command);
        if (!reply || !transition_jobs_listed(reply, &next, &rows, err) ||
            !count_rows(census, reply, rows, err))
            return false;
        if (next.len == 0)
            return true;
        buf_clear(&cursor);
        buf_append(&cursor, next.data, next.len);
    }
}

/* --- limits, and what is spent ---------------------------------------------
 */

/* Adds what the tenants' jobs that ended today have used: fields "tokens
 * <tenant>" and "cost <tenant>" of the hash of this queue and day (UTC). */
static bool count_use(struct tenant_census *census, unsigned int partition,
                      uint64_t now, struct err *err)
{
    char what[64];
    struct key key;

    snprintf(what, sizeof(what), "%" PRIu64, now / DAY_MS);
    struct key root = names_root(&census->quern->fleet->names, partition);

    key.len = (size_t)snprintf(key.text, sizeof(key.text), "%sused:%s:%s",
                               root.text, census->queue, what);
    CLEANUP(cleanup_reply)
    redisReply *hash = fleet_read(census->quern, partition, "HGETALL", &key,
                                  (const char *const[]){ NULL }, err);

    for (size_t i = 0; hash && i + 1 < hash->elements; i += 2) {
        struct view field = reply_view(hash->element[i]), name = field;
        bool tokens = view_starts(field, "tokens ");
        size_t skip = tokens ? 7 : 5;
        struct quern_tenant *tenant;

        if (!tokens && !view_starts(field, "cost "))
            continue;
        name.data += skip;
        name.len -= skip;
        tenant = find_encoded(census, name);
        if (!tenant)
            continue;
        *(tokens ? &tenant->tokens : &tenant->cost) +=
            reply_number(hash->element[i + 1]);
    }
    return hash;
}

struct limit_row {
    const char *name;
    size_t offset;
};
static const struct limit_row rows[] = {
    { "tenant_depth", offsetof(struct quern_tenant, tenant_depth) },
    { "tenant_running", offsetof(struct quern_tenant, tenant_running) },
    { "tenant_rate", offsetof(struct quern_tenant, tenant_rate) },
    { "tenant_rate_ms", offsetof(struct quern_tenant, tenant_rate_ms) },
    { "tenant_tokens", offsetof(struct quern_tenant, tenant_tokens) },
    { "tenant_cost", offsetof(struct quern_tenant, tenant_cost) },
    { "tenant_budget_ms", offsetof(struct quern_tenant, tenant_budget_ms) },
};

static void set_limit(struct quern_tenant *tenant, const char *name,
                      uint64_t value)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            memcpy((char *)tenant + rows[i].offset, &value, sizeof(value));
}

/* Fills in the limits of the tenants from begin on: a limit of the tenant's own
 * stands in place of the one that the queue sets for each tenant. */
static bool read_limits(struct tenant_census *census, size_t begin,
                        struct err *err)
{
    struct key key = names_of_queue(&census->quern->fleet->names, 0, "queue",
                                    view_of(census->queue));
    struct quern_tenant_limits own;
    struct quern_error error;
    CLEANUP(cleanup_reply)
    redisReply *hash = fleet_read(census->quern, 0, "HGETALL", &key,
                                  (const char *const[]){ NULL }, err);

    if (!hash)
        return false;
    if (!quern_tenant_limits(census->quern, census->queue, &own, &error))
        return err_set(err, ERR_RETRY, error.code, "%s", error.text);
    for (size_t i = 0; i < own.count; i++)
        find_tenant(census, view_of(own.items[i].tenant));
    for (size_t i = begin; i < census->found->count; i++)
        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++)
            set_limit(&census->found->items[i], rows[j].name,
                      reply_field_number(hash, rows[j].name));
    for (size_t i = 0; i < own.count; i++)
        set_limit(find_tenant(census, view_of(own.items[i].tenant)),
                  own.items[i].setting, own.items[i].value);
    free(own.items);
    return true;
}

/* Of a tenant with a budget, replaces what was used today by what is spent of
 * the budget in the current period. Nothing is spent yet when Redis still has
 * an earlier period. */
static bool read_spent(struct tenant_census *census,
                       struct quern_tenant *tenant, uint64_t now,
                       struct err *err)
{
    uint64_t ms = tenant->tenant_budget_ms ? tenant->tenant_budget_ms : DAY_MS;
    unsigned int partition;

    tenant->budget = tenant->tenant_tokens > 0 || tenant->tenant_cost > 0;
    if (!tenant->budget)
        return true;
    if (!handle_partition(census->quern, view_of(tenant->name), &partition,
                          err))
        return false;
    struct key key = names_spent(&census->quern->fleet->names, partition,
                                 view_of(tenant->queue), view_of(tenant->name));
    CLEANUP(cleanup_reply)
    redisReply *spent = FLEET_READ(census->quern, partition, "HMGET", &key, err,
                                   "period", "tokens", "cost");

    if (!spent || spent->elements != 3)
        return false;
    bool runs = reply_number(spent->element[0]) == now - now % ms;

    tenant->tokens = runs ? reply_number(spent->element[1]) : 0;
    tenant->cost = runs ? reply_number(spent->element[2]) : 0;
    return true;
}

static bool count_queue(struct tenant_census *census, uint64_t now,
                        struct err *err)
{
    size_t begin = census->found->count;
    unsigned int partitions;

    if (!handle_partitions(census->quern, &partitions, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++)
        if (!count_lanes(census, p, err) ||
            !tenant_count_jobs(census, p, err) ||
            !count_use(census, p, now, err))
            return false;
    if (!read_limits(census, begin, err))
        return false;
    for (size_t i = begin; i < census->found->count; i++)
        if (!read_spent(census, &census->found->items[i], now, err))
            return false;
    return true;
}

static int tenant_by_name(const void *a, const void *b)
{
    const struct quern_tenant *one = a, *other = b;
    int order = strcmp(one->name, other->name);

    return order != 0 ? order : strcmp(one->queue, other->queue);
}

bool quern_tenants(struct quern *quern, const char *queue,
                   struct quern_tenants *tenants, struct quern_error *error)
{
    struct tenant_census census = { .quern = quern, .found = tenants };
    struct quern_queues queues;
    struct err err = { 0 };
    uint64_t now = 0;
    bool ok;

    *tenants = (struct quern_tenants){ 0 };
    if (!quern_queues(quern, queue, &queues, error))
        return false;
    ok = fleet_now(quern, &now, &err);
    for (size_t i = 0; ok && i < queues.count; i++) {
        census.queue = queues.items[i].name;
        ok = count_queue(&census, now, &err);
    }
    free(queues.items);
    if (ok && tenants->count > 1)
        qsort(tenants->items, tenants->count, sizeof(*tenants->items),
              tenant_by_name);
    if (ok)
        return true;
    free(tenants->items);
    *tenants = (struct quern_tenants){ 0 };
    return handle_fail(error, &err);
}
