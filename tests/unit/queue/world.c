/* world.c - one story: consumers come, jobs come, things break; then all is
 * calm, every job ends, and the consumers leave. */
#include "tests/unit/queue/world.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "consumer/queue/partition.h"
#include "consumer/service.h"
#include "schemas/redis/sentinel.h"

enum {
    MOST_LATER = 256,
    PATIENCE_MS = 7000, /* of service.c, when the drain's time is over */
    CALM_AFTER_MS = 3000,
};

struct world world;

void world_tell(const char *format, ...)
{
    va_list args;
    printf("%7llu ", (unsigned long long)world_now() % 1000000);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

#define TELL(...)                                                              \
    do {                                                                       \
        if (world.trace)                                                       \
            world_tell(__VA_ARGS__);                                           \
    } while (0)

/* "quern:{001}:work:q0:high" */
size_t stream_number(struct view key)
{
    static const char *const priorities = "nhl";
    const char *priority = key.len > 20 ? strchr(priorities, key.data[20]) : 0;
    if (priority != NULL && key.data[18] < '2' && key.data[9] < '2') {
        size_t number = ((size_t)(key.data[9] - '0') * MOST_QUEUES +
                         (size_t)(key.data[18] - '0')) *
                            PRIORITIES +
                        (size_t)(priority - priorities);
        if (number < MOST_STREAMS &&
            view_equal(key, key_view(&world.streams[number])))
            return number;
    }
    for (size_t i = 0; i < MOST_STREAMS; i++)
        if (view_equal(key, key_view(&world.streams[i])))
            return i;
    return MOST_STREAMS;
}

/* ------------------------------------------------------------------- later */

struct later {
    struct due due;
    void (*act)(uint64_t what);
    uint64_t what;
};
static struct later laters[MOST_LATER];

static void on_later(void *owner)
{
    struct later *later = owner;
    void (*act)(uint64_t what) = later->act;
    later->act = NULL;
    act(later->what);
}

static void later(uint64_t ms, void (*act)(uint64_t what), uint64_t what)
{
    for (size_t i = 0; i < MOST_LATER; i++)
        if (laters[i].act == NULL) {
            laters[i] = (struct later){ .due = { .ring = on_later,
                                                 .owner = &laters[i] },
                                        .act = act,
                                        .what = what };
            due_set(&laters[i].due, ms);
            return;
        }
    broken("the world has room", "for what comes later");
}

/* ------------------------------------------------------------------- hosts */

struct host *host_of(uv_loop_t *loop)
{
    return (struct host *)((char *)loop - offsetof(struct host, loop));
}

struct host *host_named(int name)
{
    for (size_t i = 0; i < world.host_count; i++)
        if (world.hosts[i] != NULL && world.hosts[i]->name == name)
            return world.hosts[i];
    return NULL;
}

void host_drop(struct host *host)
{
    if (--host->things > 0)
        return;
    free(host->consumer.slots);
    free(host);
}

/* As main.c does. */
static void leave(struct consumer *consumer)
{
    struct host *host = (struct host *)consumer;
    struct partitions *partitions = consumer->partitions;
    TELL("host %zu leaves", host->number);
    if (!host->dead)
        watch_leaves(host);
    host->left = true;
    for (size_t i = 0; i < world.slots; i++)
        consumer->jobs->on_lost(consumer, i);
    world.hosts[host->number] = NULL;
    consumer->partitions = NULL;
    partitions_free(partitions);
    sentinel_free(consumer->sentinel);
    service_free(consumer->service);
    host_drop(host);
}

static void on_reload(struct consumer *consumer)
{
    (void)consumer;
}

static void on_ready(void *owner)
{
    const struct host *host = owner;
    TELL("host %zu is ready", host->number);
}

static void on_refused(void *owner, const struct err *why)
{
    const struct host *host = owner;
    broken("no server is refused", "host %zu: %s", host->number, why->text);
}

static void begin_to_leave(struct host *host)
{
    if (host->told_at != 0)
        return;
    host->told_at = world_now();
    host->leaves_by = world_now() + world.drain_ms + PATIENCE_MS;
    if (host->asleep_until > world_now())
        host->leaves_by += host->asleep_until - world_now();
}

static void on_drain(void *owner, bool draining)
{
    struct host *host = owner;
    enum mode before = host->consumer.mode;
    service_set_draining(host->consumer.service, draining);
    if (host->consumer.mode == MODE_DRAINING)
        begin_to_leave(host);
    else if (before == MODE_DRAINING)
        host->told_at = 0;
}

static void on_switched(void *owner, const struct node *master)
{
    struct host *host = owner;
    partitions_switch(host->consumer.partitions, master);
}

static void set_up(struct host *host)
{
    static char queues[] = "q0,q1", empty[] = "", executor[] = "executor";
    static char queue[] = "q0";
    struct consumer *consumer = &host->consumer;
    consumer->loop = &host->loop;
    consumer->jobs = &world_jobs;
    consumer->names = world.keys;
    consumer->durability = world.durability;
    consumer->executor = (struct executor *)host;
    consumer->settings = (struct consumer_settings){
        .queues = world.queue_count == 2 ? queues : queue,
        .name = empty,
        .executor = executor,
        .slots = world.slots,
        .lease_ms = world.lease_ms,
        .max_crashes = 3,
        .drain_ms = world.drain_ms,
        .redis_ms = world.redis_ms,
    };
    snprintf(consumer->name, sizeof(consumer->name), "c%d", host->name);
    consumer->slots = calloc(world.slots, sizeof(struct attempt *));
    if (consumer->slots == NULL)
        abort();
}

static void host_begin(size_t number, int name)
{
    struct service_events outside = { leave, on_reload };
    struct partitions_events events = { on_ready, on_refused, on_drain };
    struct host *host = calloc(1, sizeof(*host));
    if (host == NULL)
        abort();
    TELL("host %zu begins as c%d", number, name);
    *host = (struct host){ .number = number,
                           .name = name,
                           .executor = true,
                           .begun_at = world_now(),
                           .idle_since = world_now(),
                           .things = 1,
                           .latency_ms = chance(8) };
    set_up(host);
    redis.now.drained[name] = false;
    world.hosts[number] = host;
    struct consumer *consumer = &host->consumer;
    consumer->service = service_new(consumer, outside);
    consumer->sentinel =
        sentinel_new(&host->loop, &world.address, "consumer-sentinel",
                     on_switched, consumer);
    consumer->partitions = partitions_new(consumer, world.partition_count,
                                          &world.address, events, consumer);
}

static int new_name(void)
{
    int name = (int)world.names;
    while (host_named(name) != NULL)
        name = (name + 1) % MOST_NAMES;
    world.names = (world.names + 1) % MOST_NAMES;
    return name;
}

static void host_signal(struct host *host, int number)
{
    for (size_t i = 0; i < host->signal_count; i++)
        if (host->signals[i].number == number) {
            host->signals[i].ring(host->signals[i].handle, number);
            return;
        }
}

/* ------------------------------------------------------------------ faults */

static struct host *any_host(void)
{
    return world.hosts[chance(world.host_count)];
}

static void begin_again(uint64_t what)
{
    size_t number = what % MOST_HOSTS;
    int name = (int)(what / MOST_HOSTS);
    if (world.hosts[number] == NULL)
        host_begin(number, host_named(name) == NULL ? name : new_name());
}

static void kill_host(struct host *host)
{
    TELL("host %zu is killed", host->number);
    host->dead = true;
    uint64_t name = (uint64_t)(odds(50) ? host->name : new_name());
    later(between(10, 9000), begin_again, name * MOST_HOSTS + host->number);
    leave(&host->consumer);
}

static void heal_cut(uint64_t number)
{
    if (world.hosts[number] != NULL)
        world.hosts[number]->cut = false;
}

static void cut_off(struct host *host)
{
    bool silent = odds(40);
    TELL("host %zu is cut off%s", host->number, silent ? ", silently" : "");
    host->cut = true;
    links_break(host, silent);
    later(between(50, 14000), heal_cut, host->number);
}

static void fall_asleep(struct host *host)
{
    uint64_t ms = odds(50) ? between(50, 2000) : between(2000, 14000);
    TELL("host %zu stands still for %llu ms", host->number,
         (unsigned long long)ms);
    host->asleep_until = world_now() + ms;
    host->leaves_by += ms;
    watch_ill(host, ms);
}

static void speed_up(uint64_t number)
{
    struct host *host = world.hosts[number];
    if (host == NULL)
        return;
    watch_ill(host, 2 * host->latency_ms);
    host->latency_ms = chance(8);
}

static void slow_down(struct host *host)
{
    uint64_t ms = between(500, 6000);
    host->latency_ms = between(50, 700);
    TELL("host %zu is slow for %llu ms", host->number, (unsigned long long)ms);
    watch_ill(host, ms + 2 * host->latency_ms);
    later(ms, speed_up, host->number);
}

/* As main.c does. */
static void set_executor(struct host *host, bool there)
{
    if (host->executor == there)
        return;
    TELL("host %zu: the executor is %s", host->number, there ? "back" : "away");
    host->executor = there;
    if (there)
        partitions_wake(host->consumer.partitions);
    else
        partitions_stop(host->consumer.partitions);
    partitions_report(host->consumer.partitions);
}

static void executor_is_back(uint64_t number)
{
    struct host *host = world.hosts[number];
    if (host != NULL && host->asleep_until > world_now())
        later(host->asleep_until - world_now(), executor_is_back, number);
    else if (host != NULL)
        set_executor(host, true);
}

static void lose_executor(struct host *host)
{
    if (host->asleep_until > world_now())
        return;
    set_executor(host, false);
    later(between(100, 6000), executor_is_back, host->number);
}

static void signal_host(struct host *host)
{
    static const int numbers[] = { SIGTERM, SIGTERM, SIGINT,
                                   SIGTSTP, SIGUSR1, SIGHUP };
    int number = numbers[chance(6)];
    if (host->asleep_until > world_now())
        return;
    TELL("host %zu: signal %d", host->number, number);
    size_t at = host->number;
    int name = new_name();
    host_signal(host, number);
    if (number != SIGTERM && number != SIGINT)
        return;
    if (world.hosts[at] == host)
        begin_to_leave(host);
    if (odds(20) && world.hosts[at] == host)
        host_signal(host, SIGTERM); /* again: hands back at once */
    later(between(9000, 16000), begin_again, (uint64_t)name * MOST_HOSTS + at);
}

static void resume_host(uint64_t name)
{
    redis.now.drained[name] = false;
}

static void wish_drain(const struct host *host)
{
    TELL("operators drain c%d", host->name);
    redis.now.drained[host->name] = true;
    later(between(200, 8000), resume_host, (uint64_t)host->name);
    later(between(9000, 16000), begin_again,
          (uint64_t)new_name() * MOST_HOSTS + host->number);
}

static void redis_is_back(uint64_t what)
{
    (void)what;
    TELL("Redis is back");
    redis.up = true;
    watch_ill(NULL, 2500);
    links_announce();
    watch_switch();
}

static void fail_over(void)
{
    bool loses = odds(60), silent = odds(50);
    TELL("Redis fails over%s%s", loses ? ", and forgets" : "",
         silent ? ", silently" : "");
    if (!loses)
        redis.copy = redis.now;
    redis_revert();
    redis.lagging = false;
    redis.up = false;
    redis.boots++;
    redis.node = 1 - redis.node;
    links_break(NULL, silent);
    later(between(50, 5000), redis_is_back, 0);
    watch_ill(NULL, 7500);
}

static void restart_redis(void)
{
    bool loses = odds(40);
    TELL("Redis restarts%s", loses ? ", and forgets" : "");
    if (loses)
        redis_revert();
    redis.up = false;
    redis.boots++;
    links_break(NULL, odds(30));
    later(between(5, 5000), redis_is_back, 0);
    watch_ill(NULL, 7500);
}

static void fault_redis(void)
{
    static const char *const faults[] = {
        "OOM command not allowed",  "BUSY Redis is busy",    "MISCONF no disk",
        "READONLY it is a replica", "TRYAGAIN a slot moves",
    };
    uint64_t ms = between(50, 5000);
    redis.fault = faults[chance(5)];
    redis.fault_until = world_now() + ms;
    TELL("Redis says %s for %llu ms", redis.fault, (unsigned long long)ms);
    watch_ill(NULL, ms);
}

static void deny(void)
{
    static const char *const words[] = {
        "quern_v1_take",    "XREADGROUP",       "quern_v1_beat",
        "quern_v1_report",  "quern_v1_promote", "quern_v1_lapse",
        "quern_v1_reclaim", "quern_v1_mend",    "CLIENT",
    };
    uint64_t ms = between(50, 5000);
    redis.denied = words[chance(9)];
    redis.denied_until = world_now() + ms;
    TELL("Redis denies %s for %llu ms", redis.denied, (unsigned long long)ms);
    watch_ill(NULL, ms + world.lease_ms);
}

static void destroy(void)
{
    unsigned int partition = (unsigned int)chance(world.partition_count);
    unsigned int queue = (unsigned int)chance(world.queue_count);
    unsigned int priority = (unsigned int)chance(PRIORITIES);
    TELL("a stream is deleted");
    redis_destroy(partition, queue, priority);
    watch_ill(NULL, 1000);
}

static void unload(void)
{
    TELL("the library is deleted");
    redis.now.library = false;
    watch_ill(NULL, world.lease_ms + 1000);
}

static void replica_catches_up(uint64_t what)
{
    (void)what;
    redis.lagging = false;
    redis_copy();
}

static void replica_lags(void)
{
    TELL("the replica lags");
    redis.lagging = true;
    later(between(100, 4000), replica_catches_up, 0);
}

/* To its disk, now and then. */
static void copy_redis(uint64_t what)
{
    (void)what;
    if (redis.up && !redis.lagging)
        redis_copy();
}

static void resume_queue(uint64_t queue)
{
    TELL("queue %llu is resumed", (unsigned long long)queue);
    redis_pause((unsigned int)queue, false);
}

static void pause_queue(uint64_t queue)
{
    TELL("queue %llu is paused", (unsigned long long)queue);
    redis_pause((unsigned int)queue, true);
    later(between(100, 8000), resume_queue, queue);
}

static void cancel_job(uint64_t job)
{
    TELL("job %llu is cancelled", (unsigned long long)job);
    redis_cancel(job);
}

static void disturb_host(struct host *host)
{
    switch (chance(10)) {
    case 0:
        kill_host(host);
        break;
    case 1:
        cut_off(host);
        break;
    case 2:
        fall_asleep(host);
        break;
    case 3:
        slow_down(host);
        break;
    case 4:
        lose_executor(host);
        break;
    case 5:
        signal_host(host);
        break;
    case 6:
        wish_drain(host);
        break;
    case 7:
        links_break(host, odds(30));
        break;
    default:
        links_break_one(host, (unsigned int)chance(8));
    }
}

static void lose_answer(void)
{
    static const char *const words[] = {
        "quern_v1_take",    "quern_v1_take",    "quern_v1_take",
        "quern_v1_journal", "quern_v1_release", "quern_v1_wait",
        "quern_v1_beat",    "quern_v1_lapse",   "quern_v1_finish_many",
    };
    redis.unheard = words[chance(9)];
    TELL("the next answer of %s is lost", redis.unheard);
}

static void disturb_redis(void)
{
    if (!redis.up)
        return;
    switch (chance(8)) {
    case 0:
        if (world.address.kind == ADDRESS_SENTINEL)
            fail_over();
        break;
    case 1:
        restart_redis();
        break;
    case 2:
        fault_redis();
        break;
    case 3:
        deny();
        break;
    case 4:
        destroy();
        break;
    case 5:
        unload();
        break;
    case 6:
        replica_lags();
        break;
    default:
        pause_queue(chance(world.queue_count));
    }
}

static void disturb(uint64_t what)
{
    struct host *host = any_host();
    (void)what;
    if (world.calm)
        return;
    if (odds(25))
        lose_answer();
    else if (odds(60) && host != NULL)
        disturb_host(host);
    else
        disturb_redis();
}

/* -------------------------------------------------------------------- jobs */

static void submit(uint64_t job)
{
    unsigned int partition = 0;
    if (!redis.up) {
        later(500, submit, job);
        return;
    }
    id_parse(view_of(world.ids[job]), &partition);
    TELL("job %llu comes, partition %u", (unsigned long long)job, partition);
    redis_submit(job, partition, (unsigned int)chance(world.queue_count),
                 (unsigned int)chance(PRIORITIES));
}

static void plan_jobs(uint64_t chaos_ms)
{
    for (size_t i = 0; i < world.job_count; i++) {
        unsigned char random[8] = { 0 };
        random[0] = (unsigned char)i;
        struct id id =
            id_make(1, (unsigned int)chance(world.partition_count), random);
        memcpy(world.ids[i], id.text, sizeof(world.ids[i]));
        later(odds(30) ? between(0, 50) : chance(chaos_ms), submit, i);
        if (odds(15))
            later(chance(chaos_ms), cancel_job, i);
    }
}

/* ------------------------------------------------------------------- story */

static void name_keys(void)
{
    static const char *const queues[] = { "q0", "q1" };
    struct err err;
    if (!names_init(&world.keys, "quern:", &err))
        abort();
    for (unsigned int i = 0; i < MOST_PARTITIONS; i++) {
        world.roots[i] = names_root(&world.keys, i);
        for (size_t j = 0; j < MOST_QUEUES; j++)
            for (int k = 0; k < PRIORITIES; k++)
                world.streams[(i * MOST_QUEUES + j) * PRIORITIES + (size_t)k] =
                    names_work(&world.keys, i, view_of(queues[j]), k);
    }
}

static void begin(uint64_t seed, bool trace)
{
    static const uint64_t leases[] = { 3000, 4500, 9000 };
    static const char *const addresses[] = {
        "redis://127.0.0.1:7000", "redis+sentinel://127.0.0.1:7500/master"
    };
    struct err err;
    memset(&world, 0, sizeof(world));
    memset(laters, 0, sizeof(laters));
    world.seed = seed;
    world.trace = trace;
    clock_reset(seed);
    redis_reset();
    watch_reset();
    work_reset();
    name_keys();
    world.host_count = between(1, MOST_HOSTS);
    world.partition_count = between(1, MOST_PARTITIONS);
    world.queue_count = between(1, MOST_QUEUES);
    world.slots = between(1, MOST_SLOTS);
    world.job_count = odds(25) ? MOST_JOBS : between(3, 10);
    world.lease_ms = leases[chance(3)];
    world.drain_ms = between(500, 9000);
    world.redis_ms = between(3000, 8000);
    if (odds(35))
        world.durability = (struct durability){ DURABLE_REPLICA, 1 };
    if (!address_parse(&world.address, view_of(addresses[chance(2)]), &err))
        abort();
}

/* What was disturbed is not any more. */
static void become_calm(void)
{
    TELL("all is calm");
    world.calm = true;
    world.calm_since = world_now();
    redis.fault = redis.denied = redis.unheard = NULL;
    redis.lagging = false;
    if (!redis.up)
        redis_is_back(0);
    for (size_t i = 0; i < MOST_NAMES; i++)
        redis.now.drained[i] = false;
    for (unsigned int i = 0; i < world.queue_count; i++)
        redis_pause(i, false);
    for (size_t i = 0; i < world.host_count; i++) {
        struct host *host = world.hosts[i];
        if (host == NULL) {
            host_begin(i, new_name());
            continue;
        }
        host->cut = false;
    }
    links_wake();
}

static bool all_jobs_ended(void)
{
    for (size_t i = 0; i < world.job_count; i++)
        if (redis.now.rows[i].state != ROW_NONE &&
            redis.now.rows[i].state != ROW_ENDED)
            return false;
    return true;
}

static void run_seconds(uint64_t ms)
{
    uint64_t until = world_now() + ms;
    while (world_now() < until) {
        clock_run(world_now() + 1000);
        watch_second();
    }
}

/* Whoever is still quiet, or leaves, has to be replaced. */
static void see_jobs_end(void)
{
    for (size_t i = 0; !all_jobs_ended(); i++) {
        run_seconds(1000);
        for (size_t j = 0; j < world.host_count; j++) {
            if (world.hosts[j] == NULL)
                host_begin(j, new_name());
        }
        if (i == 20)
            for (size_t j = 0; j < world.host_count; j++)
                if (world.hosts[j] != NULL &&
                    world.hosts[j]->consumer.mode == MODE_QUIET)
                    host_signal(world.hosts[j], SIGTERM);
    }
}

static void end(void)
{
    size_t left = world.host_count;
    for (size_t i = 0; i < MOST_LATER; i++)
        due_stop(&laters[i].due); /* nobody comes again */
    for (size_t i = 0; i < world.host_count; i++) {
        struct host *host = world.hosts[i];
        if (host == NULL)
            continue;
        begin_to_leave(host);
        host_signal(host, SIGTERM);
    }
    while (left > 0) {
        run_seconds(1000);
        left = 0;
        for (size_t i = 0; i < world.host_count; i++)
            left += world.hosts[i] != NULL;
    }
    clock_run(world_now() + 20000);
    watch_end();
    if (clock_count() > 0)
        broken("nothing is left at the end", "%zu things wait", clock_count());
    address_finish(&world.address);
}

void world_run(uint64_t seed, bool trace)
{
    begin(seed, trace);
    uint64_t chaos_ms = between(3000, 14000);
    size_t faults = chance(8);
    redis_copy();
    for (size_t i = 0; i < world.host_count; i++)
        host_begin(i, new_name());
    plan_jobs(chaos_ms);
    for (size_t i = 0; i < faults; i++)
        later(chance(chaos_ms), disturb, 0);
    for (uint64_t at = 1500; at < chaos_ms; at += 2500)
        later(at, copy_redis, 0);
    run_seconds(chaos_ms);
    become_calm();
    run_seconds(CALM_AFTER_MS);
    see_jobs_end();
    end();
}
