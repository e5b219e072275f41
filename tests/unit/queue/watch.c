/* watch.c - what must hold in every world. What has to come in time is expected
 * of a consumer only while nothing has disturbed it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/queue/world.h"

enum {
    MOST_PROMISES = 64,
    MOST_CALLS = 400, /* in a second, of one consumer */
    MOST_RINGS = 400,
    CLAIM_MS = 3500,      /* a blocking read, and its way */
    LATE_CANCEL_MS = 600, /* when the control channel is heard */
    LAST_JOB_MS = 150000, /* when all is calm */
};

enum kind { KEEP_LOST, KEEP_CANCEL, KEEP_SWITCH };

struct promise {
    struct due due;
    bool used;
    enum kind kind;
    size_t host;
    int name;
    size_t job;
    uint64_t epoch, since, within_ms;
};

static struct promise promises[MOST_PROMISES];
static uint64_t all_ill_until;

void broken(const char *invariant, const char *format, ...)
{
    va_list args;
    fflush(stdout);
    printf("seed %llu broke \"%s\": ", (unsigned long long)world.seed,
           invariant);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf(" (at %llu ms)\n", (unsigned long long)world_now() % 1000000);
    fflush(stdout);
    _exit(1);
}

/* ------------------------------------------------------------------ well-being
 */

void watch_ill(struct host *host, uint64_t for_ms)
{
    uint64_t until = world_now() + for_ms + RECOVERY_MS;
    uint64_t *which = host == NULL ? &all_ill_until : &host->ill_until;
    if (*which < until)
        *which = until;
}

void watch_links(struct host *host)
{
    bool ready = links_are_ready(host);
    if (ready && host->ready_since == 0)
        host->ready_since = world_now();
    else if (!ready)
        host->ready_since = 0;
}

uint64_t watch_well_since(const struct host *host)
{
    uint64_t since = host->ready_since + RECOVERY_MS;
    if (host->ready_since == 0 || host->dead || host->left)
        return UINT64_MAX;
    if (since < host->ill_until)
        since = host->ill_until;
    return since < all_ill_until ? all_ill_until : since;
}

/* A way there and back, and what is not as precise. */
static uint64_t slack(const struct host *host)
{
    return SLACK_MS + 4 * host->latency_ms;
}

/* -------------------------------------------------------------------- promises
 */

static bool is_kept(const struct promise *promise, const struct host *host)
{
    const struct work *work = work_find(promise->job, promise->epoch);
    if (promise->kind == KEEP_SWITCH)
        return links_astray(host) == 0 || promise->epoch != redis.boots;
    return work == NULL || work->ending || work->leaving ||
           (promise->kind == KEEP_CANCEL && work->cancelled);
}

static void check_promise(struct promise *promise, const struct host *host)
{
    static const char *const texts[] = {
        [KEEP_LOST] = "a lost lease ends the attempt",
        [KEEP_CANCEL] = "a cancel reaches the attempt in time",
        [KEEP_SWITCH] = "links go where the sentinel says",
    };
    bool expected = promise->kind == KEEP_SWITCH
                        ? links_listen(host, promise->since) &&
                              host->asleep_until < promise->since
                        : watch_well_since(host) <= promise->since;
    if (expected)
        broken(texts[promise->kind], "host %zu job %zu, since %llu ms",
               promise->host, promise->job,
               (unsigned long long)(world_now() - promise->since));
    if (promise->kind == KEEP_SWITCH) {
        promise->used = false; /* who was not told then finds it by itself */
        return;
    }
    promise->since = world_now();
    due_set(&promise->due, promise->within_ms);
}

static void on_promise(void *owner)
{
    struct promise *promise = owner;
    const struct host *host = world.hosts[promise->host];
    bool there = host != NULL && host->name == promise->name;
    if (there && !is_kept(promise, host))
        check_promise(promise, host);
    else
        promise->used = false;
}

static void promise(enum kind kind, const struct host *host, size_t job,
                    uint64_t epoch, uint64_t within_ms)
{
    for (size_t i = 0; i < MOST_PROMISES; i++) {
        struct promise *free = &promises[i];
        if (free->used)
            continue;
        *free = (struct promise){
            .due = { .ring = on_promise, .owner = free },
            .used = true,
            .kind = kind,
            .host = host->number,
            .name = host->name,
            .job = job,
            .epoch = epoch,
            .since = world_now(),
            .within_ms = within_ms,
        };
        due_set(&free->due, within_ms);
        return;
    }
}

void watch_lost(size_t job, uint64_t epoch)
{
    const struct work *work = work_find(job, epoch);
    if (work != NULL)
        promise(KEEP_LOST, work->host, job, epoch,
                world.lease_ms / 3 + slack(work->host));
}

static void promise_cancel(const struct work *work)
{
    const struct host *host = work->host;
    bool heard =
        links_hear(host, work->partition->number) && work->since < world_now();
    promise(KEEP_CANCEL, host, work->job, work->epoch,
            heard ? LATE_CANCEL_MS + slack(host)
                  : world.lease_ms / 3 + slack(host));
}

void watch_cancel(size_t job)
{
    const struct work *work = work_find(job, redis.now.rows[job].epoch);
    if (work != NULL)
        promise_cancel(work);
}

void watch_switch(void)
{
    for (size_t i = 0; i < world.host_count; i++)
        if (world.hosts[i] != NULL)
            promise(KEEP_SWITCH, world.hosts[i], MOST_JOBS, redis.boots,
                    slack(world.hosts[i]));
}

/* ------------------------------------------------------------------------ jobs
 */

void watch_started(const struct work *work)
{
    const struct row *row = &redis.now.rows[work->job];
    for (size_t i = 0; i < world.host_count; i++) {
        const struct host *host = world.hosts[i];
        for (size_t slot = 0; host != NULL && slot < world.slots; slot++) {
            const struct work *other = &host->works[slot];
            if (other->host != NULL && other != work &&
                other->job == work->job && other->epoch == work->epoch)
                broken("no job runs at two holders", "job %zu", work->job);
        }
    }
    if (row->state == ROW_RUNNING && row->epoch == work->epoch && row->cancel)
        promise_cancel(work);
    else if (row->epoch != work->epoch)
        watch_lost(work->job, work->epoch);
}

void watch_ended(const struct work *work)
{
    (void)work;
    world.ends++;
}

/* When the lease was last renewed, or began. */
static uint64_t renewed_at(const struct row *row)
{
    return row->lease_until - row->lease_ms;
}

void watch_beat(const struct row *row, size_t job)
{
    const struct work *work = work_find(job, row->epoch);
    uint64_t at = renewed_at(row);
    if (work == NULL || watch_well_since(work->host) > at)
        return;
    if (world_now() - at > world.lease_ms / 3 + slack(work->host))
        broken("leases are renewed in time", "job %zu after %llu ms", job,
               (unsigned long long)(world_now() - at));
}

/* At once, or when it asked again after an outage. */
static bool was_answered(const struct row *row, const struct host *owner)
{
    return watch_well_since(owner) <= world_now() && !row->orphaned &&
           row->losses == redis.losses && owner->begun_at < renewed_at(row) &&
           watch_well_since(owner) <= row->lease_until;
}

void watch_lapse(const struct row *row, size_t job)
{
    const struct work *work = work_find(job, row->epoch);
    const struct host *owner = host_named(row->owner);
    uint64_t at = renewed_at(row);
    if (work != NULL && watch_well_since(work->host) <= at)
        broken("leases are renewed in time", "job %zu of host %zu lapses", job,
               work->host->number);
    if (work == NULL && owner != NULL && was_answered(row, owner))
        broken("what was taken is started", "job %zu of host %zu", job,
               owner->number);
}

/* ---------------------------------------------------------------------- upkeep
 */

void watch_chore(const struct client *client, enum chore chore)
{
    struct host *host = host_named(client->name);
    if (client->closed || host == NULL)
        return;
    host->chores[client->partition][chore] = world_now();
    if (chore == CHORE_LAPSE &&
        world_now() < host->ready_at[client->partition] + world.lease_ms)
        broken("nothing lapses within a lease after an outage",
               "host %zu after %llu ms", host->number,
               (unsigned long long)(world_now() -
                                    host->ready_at[client->partition]));
}

static uint64_t age(uint64_t at, uint64_t since)
{
    return world_now() - (at > since ? at : since);
}

static void check_chores(const struct host *host, uint64_t since)
{
    const struct {
        const char *name;
        uint64_t within_ms;
    } chores[] = {
        [CHORE_REPORT] = { "report", world.lease_ms / 3 },
        [CHORE_PROMOTE] = { "promote", 1000 },
        [CHORE_LAPSE] = { "lapse", world.lease_ms },
        [CHORE_SWEEP] = { "sweep", world.lease_ms },
    };
    for (size_t i = 0; i < world.partition_count; i++)
        for (size_t chore = 0; chore < CHORES && !host->departed; chore++)
            if (age(host->chores[i][chore], since) >
                chores[chore].within_ms + slack(host))
                broken("upkeep is done within its period",
                       "host %zu partition %zu: %s", host->number, i,
                       chores[chore].name);
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (i / (MOST_QUEUES * PRIORITIES) < world.partition_count &&
            i / PRIORITIES % MOST_QUEUES < world.queue_count &&
            !host->departed &&
            age(host->swept[i], since) > world.lease_ms + slack(host))
            broken("upkeep is done within its period",
                   "host %zu: stream %zu is not swept", host->number, i);
}

/* -------------------------------------------------------------------- claiming
 */

static void check_claims(struct host *host, uint64_t since)
{
    const struct consumer *consumer = &host->consumer;
    bool takes = consumer_claims(consumer) && !host->departed &&
                 consumer->running < consumer->settings.slots;
    for (size_t i = 0; i < world.partition_count; i++) {
        if (!takes || links_claim(host, (unsigned int)i))
            host->claimed_at[i] = world_now();
        else if (age(host->claimed_at[i], since) > CLAIM_MS + slack(host))
            broken("it consumes again in time", "host %zu partition %zu",
                   host->number, i);
    }
}

static bool takes_from_queues(const struct command *command)
{
    for (int i = 8; i < command->argc; i++)
        if (command->argvlen[i] == 5 &&
            memcmp(command->argv[i], "queue", 5) == 0)
            return true;
    return false;
}

static bool is_call(const struct command *command, const char *name)
{
    return command->argc > 1 &&
           view_is((struct view){ command->argv[0], command->argvlen[0] },
                   "FCALL") &&
           view_is((struct view){ command->argv[1], command->argvlen[1] },
                   name);
}

static void check_holding(const struct host *host,
                          const struct command *command, int at)
{
    size_t job = work_job(command->argv[at], command->argvlen[at]);
    uint64_t epoch = 0;
    for (size_t i = 0; i < command->argvlen[at + 1]; i++)
        epoch = epoch * 10 + (uint64_t)(command->argv[at + 1][i] - '0');
    const struct work *work = work_find(job, epoch);
    if (work == NULL || work->host != host)
        broken("nothing is written of a lost lease", "job %zu epoch %llu", job,
               (unsigned long long)epoch);
}

static void check_report(struct host *host, const struct command *command)
{
    if (command->argc == 6)
        host->departed = true;
    else if (host->departed)
        broken("who has left is not listed again", "host %zu", host->number);
}

void watch_sent(struct host *host, const struct command *command)
{
    static const char *const writes[] = { "quern_v1_journal", "quern_v1_event",
                                          "quern_v1_release", "quern_v1_wait" };
    struct view word = { command->argv[0], command->argvlen[0] };
    bool take = is_call(command, "quern_v1_take");
    bool read = view_is(word, "XREADGROUP");
    host->calls++;
    if (take || read)
        for (size_t i = 0; i < world.partition_count; i++) {
            const char *key = command->argv[take ? 3 : 9];
            if (memcmp(key, world.roots[i].text, world.roots[i].len) == 0)
                host->claimed_at[i] = world_now();
        }
    if ((read || (take && takes_from_queues(command))) &&
        !consumer_claims(&host->consumer))
        broken("who drains takes nothing new", "host %zu", host->number);
    if (is_call(command, "quern_v1_report"))
        check_report(host, command);
    for (size_t i = 0; i < 4; i++)
        if (is_call(command, writes[i]))
            check_holding(host, command, 4);
    if (is_call(command, "quern_v1_finish_many"))
        for (int i = 4; i < command->argc; i += 10)
            check_holding(host, command, i);
}

/* ---------------------------------------------------------------- the whole of
 * it */

static void check_busy(struct host *host)
{
    if (host->calls > MOST_CALLS || host->rings > MOST_RINGS)
        broken("no busy loop", "host %zu: %zu calls, %zu alarms in a second",
               host->number, host->calls, host->rings);
    host->calls = host->rings = 0;
}

static void check_jobs(void)
{
    if (!world.calm || world_now() < world.calm_since + LAST_JOB_MS)
        return;
    for (size_t i = 0; i < world.job_count; i++) {
        const struct row *row = &redis.now.rows[i];
        if (row->state != ROW_NONE && row->state != ROW_ENDED)
            broken("no job is lost",
                   "job %zu: state %d owner %d streamed %d nowhere %d "
                   "reader %d",
                   i, row->state, row->owner, row->streamed, row->nowhere,
                   row->reader);
    }
}

static void check_leaving(struct host *host, uint64_t since)
{
    if (host->told_at == 0 || host->consumer.running > 0)
        host->idle_since = world_now();
    else if (since <= world_now() &&
             age(host->idle_since, since) > CLAIM_MS + slack(host))
        broken("who has nothing leaves at once", "host %zu", host->number);
    if (host->told_at != 0 && world_now() > host->leaves_by)
        broken("a drain ends in time", "host %zu", host->number);
}

void watch_second(void)
{
    for (size_t i = 0; i < world.host_count; i++) {
        struct host *host = world.hosts[i];
        if (host == NULL)
            continue;
        uint64_t since = watch_well_since(host);
        size_t running = 0;
        for (size_t slot = 0; slot < world.slots; slot++)
            running += host->works[slot].host != NULL;
        if (running != host->consumer.running)
            broken("the world counts right", "host %zu", host->number);
        check_busy(host);
        if (since <= world_now()) {
            check_chores(host, since);
            check_claims(host, since);
        }
        check_leaving(host, since);
    }
    check_jobs();
}

void watch_leaves(struct host *host)
{
    if (host->told_at == 0 || watch_well_since(host) > host->told_at)
        return;
    /* What was started before, by a host of the same name that was killed, is
     * not its own: epochs are times. */
    for (size_t i = 0; i < world.job_count; i++)
        if (redis.now.rows[i].state == ROW_RUNNING &&
            redis.now.rows[i].owner == host->name &&
            redis.now.rows[i].epoch >= host->begun_at)
            broken("who leaves hands back what it holds", "host %zu job %zu",
                   host->number, i);
    for (size_t i = 0; i < world.partition_count; i++)
        if (redis.now.listed[i][host->name] != 0)
            broken("who has left is not listed again", "host %zu",
                   host->number);
}

void watch_end(void)
{
    for (size_t i = 0; i < MOST_PROMISES; i++)
        due_stop(&promises[i].due);
    if (links_count() > 0 || clock_alarms() > 0)
        broken("nothing is left at the end", "%zu links, %zu alarms",
               links_count(), clock_alarms());
}

void watch_reset(void)
{
    memset(promises, 0, sizeof(promises));
    all_ill_until = 0;
}
