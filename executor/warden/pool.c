/* pool.c - interpreters that are ready before anybody asks.
 *
 * One alarm sets the pace: it starts the next one, or gives up the one that is
 * coming and late. */
#include "executor/warden/pool.h"

#include <stdlib.h>

#include "executor/base/log.h"

enum {
    QUIET_MS = 25,   /* after a session took one: its cell runs first */
    PACE_MS = 20,    /* from one to the next: cells need the processor, too */
    RETRY_MS = 1000, /* after a failure */
    FORK_MS = 60000, /* from asking for a box until it is ready */
};

/* An interpreter on its way to READY, or ready. */
struct pool_entry {
    struct pool_entry *next;
    struct interpreter_pool *pool;
    enum profile profile;
    uint64_t generation; /* of its zygote */
    struct box_request request;
    struct interpreter *interpreter; /* NULL: it waits for a box */
    bool ready;
};

struct interpreter_pool {
    uv_loop_t *loop;
    const struct executor_settings *settings;
    struct boxes *boxes;
    struct zygote *zygotes[PROFILES]; /* NULL: nobody has asked for it */
    struct pool_entry *first;         /* the newest first */
    struct pool_entry *coming;        /* the one of them that is not ready */
    struct loop_alarm *pace;          /* the next is due; or: this one is */
};

static void pool_entry_end(struct pool_entry *entry)
{
    struct interpreter_pool *pool = entry->pool;
    struct pool_entry **link = &pool->first;
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    if (pool->coming == entry)
        pool->coming = NULL;
    if (entry->request.waiting)
        boxes_forget(pool->boxes, &entry->request);
    box_release(entry->request.box);
    interpreter_free(entry->interpreter);
    free(entry);
}

static bool is_current(const struct pool_entry *entry)
{
    const struct interpreter_pool *pool = entry->pool;
    return entry->generation ==
           zygote_generation(pool->zygotes[entry->profile]);
}

/* Ends one whose zygote was renewed, when a new one is ready: so there are
 * never fewer ready ones because of a renewal. */
static void end_outdated(struct interpreter_pool *pool, enum profile profile)
{
    for (struct pool_entry *entry = pool->first; entry; entry = entry->next)
        if (entry->profile == profile && !is_current(entry)) {
            pool_entry_end(entry);
            return;
        }
}

/* ------------------------------------------------------- what becomes of one
 */

static void on_ready(void *owner)
{
    struct pool_entry *entry = owner;
    struct interpreter_pool *pool = entry->pool;
    entry->ready = true;
    pool->coming = NULL;
    interpreter_freeze(entry->interpreter);
    end_outdated(pool, entry->profile);
    alarm_set(pool->pace, PACE_MS);
}

/* Before or after it was ready. */
static void on_dead(void *owner)
{
    struct pool_entry *entry = owner;
    struct interpreter_pool *pool = entry->pool;
    log_line("pool.lost", profile_names[entry->profile], "%s",
             interpreter_cause(entry->interpreter));
    pool_entry_end(entry);
    alarm_set(pool->pace, RETRY_MS);
}

static void pool_entry_be_born(struct pool_entry *entry)
{
    struct interpreter_pool *pool = entry->pool;
    struct zygote *zygote = pool->zygotes[entry->profile];
    entry->interpreter = interpreter_new(pool->loop, zygote, entry->request.box,
                                         &pool->settings->limits, false);
    entry->request.box = NULL;
    interpreter_use(entry->interpreter, (struct interpreter_events){
                                            .on_ready = on_ready,
                                            .on_dead = on_dead,
                                            .owner = entry,
                                        });
}

static void on_box(void *owner)
{
    struct pool_entry *entry = owner;
    struct interpreter_pool *pool = entry->pool;
    if (entry->request.box) {
        pool_entry_be_born(entry);
        return;
    }
    pool_entry_end(entry);
    alarm_set(pool->pace, RETRY_MS);
}

static void pool_entry_start(struct interpreter_pool *pool,
                             enum profile profile)
{
    struct pool_entry *entry = allocate(sizeof(*entry));
    entry->pool = pool;
    entry->profile = profile;
    entry->generation = zygote_generation(pool->zygotes[profile]);
    entry->request.on_answer = on_box;
    entry->request.owner = entry;
    entry->request.disk_bytes = pool->settings->limits.disk_bytes;
    entry->next = pool->first;
    pool->first = pool->coming = entry;
    alarm_set(pool->pace, FORK_MS);
    if (boxes_take(pool->boxes, &entry->request))
        pool_entry_be_born(entry);
}

size_t pool_ready(const struct interpreter_pool *pool)
{
    size_t count = 0;
    for (const struct pool_entry *entry = pool->first; entry;
         entry = entry->next)
        count += entry->ready;
    return count;
}

/* ------------------------------------------------------------ how many, when
 */

static bool is_missed(const struct interpreter_pool *pool, enum profile profile)
{
    const struct zygote *zygote = pool->zygotes[profile];
    uint64_t count = 0;
    if (!zygote || zygote_generation(zygote) == 0)
        return false; /* its first word wakes us */
    for (const struct pool_entry *entry = pool->first; entry;
         entry = entry->next)
        count += entry->profile == profile && is_current(entry);
    return count < pool->settings->ready;
}

static bool somebody_waits(const struct interpreter_pool *pool)
{
    bool busy = boxes_are_wanted(pool->boxes);
    for (size_t i = 0; i < PROFILES; i++)
        busy |= pool->zygotes[i] && zygote_is_busy(pool->zygotes[i]);
    return busy;
}

static void on_pace(void *owner)
{
    struct interpreter_pool *pool = owner;
    if (pool->coming) { /* for too long */
        pool_entry_end(pool->coming);
        alarm_set(pool->pace, RETRY_MS);
        return;
    }
    for (int profile = 0; profile < PROFILES; profile++)
        if (is_missed(pool, (enum profile)profile)) {
            if (somebody_waits(pool))
                alarm_set(pool->pace, PACE_MS);
            else
                pool_entry_start(pool, (enum profile)profile);
            return;
        }
}

static void on_up(void *owner)
{
    struct interpreter_pool *pool = owner;
    if (!pool->coming)
        alarm_set(pool->pace, QUIET_MS);
}

/* -------------------------------------------------------------- life cycle */

struct interpreter_pool *pool_new(uv_loop_t *loop,
                                  const struct executor_settings *settings,
                                  struct boxes *boxes)
{
    struct interpreter_pool *pool = allocate(sizeof(*pool));
    pool->loop = loop;
    pool->settings = settings;
    pool->boxes = boxes;
    pool->pace = alarm_new(loop, on_pace, pool);
    pool_zygote(pool, settings->profile);
    return pool;
}

void pool_close(struct interpreter_pool *pool)
{
    while (pool->first)
        pool_entry_end(pool->first);
    alarm_stop(pool->pace);
}

void pool_free(struct interpreter_pool *pool)
{
    if (!pool)
        return;
    pool_close(pool);
    for (size_t i = 0; i < PROFILES; i++)
        zygote_free(pool->zygotes[i]);
    alarm_free(pool->pace);
    free(pool);
}

struct zygote *pool_zygote(struct interpreter_pool *pool, enum profile profile)
{
    if (!pool->zygotes[profile])
        pool->zygotes[profile] =
            zygote_new(pool->loop, pool->settings, profile, on_up, pool);
    return pool->zygotes[profile];
}

struct interpreter *pool_take(struct interpreter_pool *pool,
                              enum profile profile,
                              const struct session_limits *limits)
{
    if (limits->disk_bytes != pool->settings->limits.disk_bytes)
        return NULL; /* a box's quota is made with it */
    for (struct pool_entry *entry = pool->first; entry; entry = entry->next) {
        struct interpreter *interpreter = entry->interpreter;
        if (entry->profile != profile || !entry->ready ||
            !interpreter_limit(interpreter, limits))
            continue;
        entry->interpreter = NULL;
        pool_entry_end(entry);
        if (!pool->coming)
            alarm_set(pool->pace, QUIET_MS);
        return interpreter;
    }
    return NULL;
}
