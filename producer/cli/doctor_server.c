/* doctor_server.c - can this server hold jobs, and will it keep them? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/cli/doctor.h"

enum {
    PINGS = 20,
    SLOW_US = 5000,  /* in the middle: every step of a job takes that long */
    CLOCK_MS = 5000, /* between two clocks: times that are shown are off */
    FULL_PERCENT = 85,
};

redisReply *doctor_ask(struct doctor *doctor, struct err *err, int count,
                       const char *const *words)
{
    struct command command;
    redisReply *reply;

    command_init(&command, words[0]);
    for (int i = 1; i < count; i++)
        command_add_text(&command, words[i]);
    reply = conn_call(doctor->conn, &command, DOCTOR_CALL_MS, err);
    command_finish(&command);
    return reply;
}

void cleanup_answer(redisReply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
}

/* --- is it there ---------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return one < other ? -1 : one > other;
}

/* In the order of their length; false: one was not answered. */
static bool time_pings(struct doctor *doctor, uint64_t *us, struct err *err)
{
    for (int i = 0; i < PINGS; i++) {
        uint64_t begin = now_us();
        CLEANUP(cleanup_answer) redisReply *pong = ASK(doctor, err, "PING");

        if (!pong)
            return false;
        us[i] = now_us() - begin;
    }
    qsort(us, PINGS, sizeof(*us), compare);
    return true;
}

bool check_redis(struct doctor *doctor)
{
    struct err err = { 0 };
    char where[256];
    uint64_t us[PINGS];
    CLEANUP(cleanup_answer) redisReply *pong = ASK(doctor, &err, "PING");

    address_print(&doctor->address, where, sizeof(where));
    /* The first one connected. */
    if (!pong || !time_pings(doctor, us, &err)) {
        find(doctor, FAULT, "redis",
             "start Redis, or say where it is and who you are: --redis-url, "
             "REDIS_URL",
             "%s: %s", where, err.text);
        return false;
    }
    if (us[PINGS / 2] > SLOW_US)
        find(doctor, WARNING, "redis",
             "bring consumers and Redis closer together: each step of a job "
             "waits for it\n"
             "redis-cli --latency and LATENCY DOCTOR, if it is near",
             "%s, answers in %.1f ms", where, (double)us[PINGS / 2] / 1e3);
    else
        find(doctor, FINE, "redis", NULL,
             "%s, answers in %.2f ms (the slowest of %d: %.2f ms)", where,
             (double)us[PINGS / 2] / 1e3, PINGS, (double)us[PINGS - 1] / 1e3);
    return true;
}

/* --- what INFO says ------------------------------------------------------- */

/* A line "name:value"; "" where there is none. */
static const char *info_line(const redisReply *info, const char *name,
                             char *value, size_t size)
{
    size_t len = strlen(name);
    const char *line = info->str;

    while (line && (strncmp(line, name, len) != 0 || line[len] != ':')) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    line = line ? line + len + 1 : "";
    snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
    return value;
}

static uint64_t info_number(const redisReply *info, const char *name)
{
    char value[32];

    return strtoull(info_line(info, name, value, sizeof(value)), NULL, 10);
}

static bool info_is(const redisReply *info, const char *name, const char *text)
{
    char value[64];

    return strcmp(info_line(info, name, value, sizeof(value)), text) == 0;
}

static void check_version(struct doctor *doctor, const redisReply *info)
{
    char version[32], valkey[32];

    info_line(info, "redis_version", version, sizeof(version));
    info_line(info, "valkey_version", valkey, sizeof(valkey));
    if (strtoul(version, NULL, 10) < 7)
        find(doctor, FAULT, "version", "install Redis 7.0 or later, or Valkey",
             "Redis %s lacks functions; 7.0 is the least",
             *version ? version : "of an unknown version");
    else
        find(doctor, FINE, "version", NULL, "%s %s",
             *valkey ? "Valkey" : "Redis", *valkey ? valkey : version);
}

static void check_role(struct doctor *doctor, const redisReply *info)
{
    uint64_t replicas = info_number(info, "connected_slaves");

    if (info_is(info, "redis_mode", "sentinel"))
        find(doctor, FAULT, "role",
             "redis+sentinel://HOST:PORT/MASTER asks it where the master is",
             "this is Sentinel, which holds no jobs");
    else if (info_is(info, "role", "slave"))
        find(doctor, FAULT, "role", "name the master in the URL",
             "this is a replica: nothing can be written here");
    else if (replicas > 0 && info_is(info, "min_slaves_good_slaves", ""))
        find(doctor, NOTE, "role",
             "CONFIG SET min-replicas-to-write 1: what no replica has is "
             "refused, not lost",
             "master, %" PRIu64 " replica%s; writes of the last moment are "
             "lost when one takes over",
             replicas, replicas == 1 ? "" : "s");
    else
        find(doctor, FINE, "role", NULL, "%s, %" PRIu64 " replica%s",
             info_is(info, "redis_mode", "cluster") ? "master of a cluster"
                                                    : "master",
             replicas, replicas == 1 ? "" : "s");
}

/* How often it writes through; "": we may not ask. */
static void read_fsync(struct doctor *doctor, char *value, size_t size)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *reply = ASK(doctor, &err, "CONFIG", "GET", "appendfsync");

    snprintf(value, size, "%s",
             reply && reply->elements == 2 ? reply->element[1]->str : "");
}

static void check_storage(struct doctor *doctor, const redisReply *info)
{
    char fsync[16];

    read_fsync(doctor, fsync, sizeof(fsync));
    if (!info_is(info, "aof_enabled", "1"))
        find(doctor, WARNING, "storage",
             "redis-cli CONFIG SET appendonly yes, and in redis.conf",
             "no append-only file: a restart of Redis loses the jobs since "
             "the last snapshot");
    else if (info_is(info, "aof_last_write_status", "err") ||
             info_is(info, "aof_last_bgrewrite_status", "err"))
        find(doctor, FAULT, "storage", "make room on its disk; see its log",
             "Redis cannot write its append-only file: it refuses new jobs");
    else if (strcmp(fsync, "no") == 0)
        find(doctor, WARNING, "storage",
             "redis-cli CONFIG SET appendfsync everysec, and in redis.conf",
             "appendfsync is no: a power failure loses half a minute of jobs");
    else
        find(doctor, FINE, "storage", NULL, "append-only file is on%s%s",
             *fsync ? ", appendfsync " : "", fsync);
}

static void check_memory(struct doctor *doctor, const redisReply *info)
{
    uint64_t used = info_number(info, "used_memory");
    uint64_t all = info_number(info, "maxmemory");

    if (all == 0)
        find(doctor, NOTE, "memory",
             "CONFIG SET maxmemory below what the machine has: then new jobs "
             "are refused, and old ones end",
             "%s, without a limit: when the machine is full, Redis is killed",
             term_size(used));
    else
        find(doctor, used * 100 > all * FULL_PERCENT ? WARNING : FINE, "memory",
             used * 100 > all * FULL_PERCENT
                 ? "raise maxmemory, or purge what nobody waits for"
                 : NULL,
             "%s of %s", term_size(used), term_size(all));
}

static void check_eviction(struct doctor *doctor, const redisReply *info)
{
    char value[32];

    info_line(info, "maxmemory_policy", value, sizeof(value));
    if (strcmp(value, "noeviction") == 0)
        find(doctor, FINE, "eviction", NULL, "noeviction");
    else
        find(doctor, FAULT, "eviction",
             "redis-cli CONFIG SET maxmemory-policy noeviction, and in "
             "redis.conf",
             "maxmemory-policy is %s: Redis may drop jobs when memory runs "
             "short",
             value);
}

bool check_server(struct doctor *doctor)
{
    static void (*const checks[])(struct doctor *, const redisReply *) = {
        check_version, check_role, check_storage, check_memory, check_eviction,
    };
    struct err err = { 0 };
    CLEANUP(cleanup_answer) redisReply *info = ASK(doctor, &err, "INFO");

    if (!info)
        find(doctor, NOTE, "server", "ask as its operator",
             "this login may not look at it: %s", err.text);
    for (size_t i = 0; info && i < sizeof(checks) / sizeof(checks[0]); i++)
        checks[i](doctor, info);
    return true;
}

/* --- login and clock ------------------------------------------------------ */

static bool is_open(struct doctor *doctor)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *user = ASK(doctor, &err, "ACL", "GETUSER", "default");
    bool on = false, nopass = false;

    if (!user || user->type != REDIS_REPLY_ARRAY || user->elements < 2)
        return false;
    for (size_t i = 0; i < user->element[1]->elements; i++) {
        const char *flag = user->element[1]->element[i]->str;

        on = on || strcmp(flag, "on") == 0;
        nopass = nopass || strcmp(flag, "nopass") == 0;
    }
    return on && nopass;
}

bool check_login(struct doctor *doctor)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *user = ASK(doctor, &err, "ACL", "WHOAMI");
    const char *name = user ? user->str : "somebody who may not ask who";

    if (is_open(doctor))
        find(doctor, WARNING, "login",
             "deploy/redis/users.acl has a user for each role",
             "%s; whoever reaches this Redis may do everything, without a "
             "password",
             name);
    else
        find(doctor, FINE, "login", NULL, "%s", name);
    return true;
}

bool check_clock(struct doctor *doctor)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer) redisReply *reply = ASK(doctor, &err, "TIME");
    struct timespec now;
    int64_t ahead_ms;

    if (!reply || reply->elements != 2)
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    ahead_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 -
               strtoll(reply->element[0]->str, NULL, 10) * 1000 -
               strtoll(reply->element[1]->str, NULL, 10) / 1000;
    if (ahead_ms > CLOCK_MS || ahead_ms < -CLOCK_MS)
        find(doctor, WARNING, "clock", "run an NTP client on both hosts",
             "this host's is %s %s of Redis's, which jobs go by: schedules "
             "and times that are shown here are off by as much",
             term_time((uint64_t)(ahead_ms < 0 ? -ahead_ms : ahead_ms)),
             ahead_ms < 0 ? "behind" : "ahead");
    else
        find(doctor, FINE, "clock", NULL, "as Redis's");
    return true;
}
