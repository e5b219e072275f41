/* doctor_server.c - checks of one Redis server: is it there and fast, is it the
 * master, will it keep what is written, does it take writes, is its clock
 * right. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"
#include "schemas/redis/info.h"

enum {
    PINGS = 20,
    MIDDLE = PINGS / 2,
    SLOW_US = 5000,  /* median: every step of a job waits so long for Redis */
    CLOCK_MS = 2000, /* difference of two clocks that is told */
    HOUR_MS = 60 * 60 * 1000,
    FULL_PERCENT = 85,
    LAG_S = 10, /* replicas report every second how far they are */
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

static int doctor_server_compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return one < other ? -1 : one > other;
}

/* Times PINGS pings, and sorts them; false: one was not answered. */
static bool time_pings(struct doctor *doctor, uint64_t *us, struct err *err)
{
    for (int i = 0; i < PINGS; i++) {
        uint64_t begin = now_us();
        CLEANUP(cleanup_answer) redisReply *pong = ASK(doctor, err, "PING");

        if (!pong)
            return false;
        us[i] = now_us() - begin;
    }
    qsort(us, PINGS, sizeof(*us), doctor_server_compare);
    return true;
}

void check_redis(struct doctor *doctor)
{
    struct err err = { 0 };
    char where[256];
    uint64_t us[PINGS];
    double middle_ms;
    CLEANUP(cleanup_answer) redisReply *pong = ASK(doctor, &err, "PING");

    address_print(&doctor->address, where, sizeof(where));
    /* The ping above has connected, so it is not among those that are timed. */
    if (!pong || !time_pings(doctor, us, &err)) {
        find(doctor, FAULT, "redis", remedy_of(doctor, err.text), "%s: %s",
             where, err.text);
        /* A server that cannot write its disk refuses even a PING so, but the
         * other checks still say something. */
        doctor->refuses = view_starts(view_of(err.text), "MISCONF");
        doctor->away = !doctor->refuses;
        return;
    }
    if (conn_peer_ends(doctor->conn) > 0)
        doctor_find_end(doctor, conn_peer_ends(doctor->conn),
                        "renew it, and let Redis read it (CONFIG SET "
                        "tls-cert-file)",
                        "Redis's own");
    middle_ms = (double)us[MIDDLE] / 1e3;
    if (us[MIDDLE] > SLOW_US)
        find(doctor, WARNING, "redis",
             "bring consumers and Redis closer together: each step of a job "
             "waits for it\n"
             "redis-cli --latency and LATENCY DOCTOR, if it is near",
             "%s, answers in %.1f ms", where, middle_ms);
    else
        find(doctor, FINE, "redis", NULL,
             "%s, answers in %.2f ms (the slowest of %d: %.2f ms)", where,
             middle_ms, PINGS, (double)us[PINGS - 1] / 1e3);
}

/* --- what INFO says ------------------------------------------------------- */

static uint64_t info_number(struct view info, const char *name)
{
    struct view value = info_value(info, name);

    return value.len > 0 ? strtoull(value.data, NULL, 10) : 0;
}

static bool info_has(struct view info, const char *name)
{
    return info_value(info, name).len > 0;
}

static void check_role(struct doctor *doctor, struct view info)
{
    uint64_t replicas = info_number(info, "connected_slaves");

    if (info_is(info, "redis_mode", "sentinel"))
        find(doctor, FAULT, "role",
             "redis+sentinel://HOST:PORT/MASTER asks it where the master is",
             "this is Sentinel, which holds no jobs");
    else if (info_is(info, "role", "slave"))
        find(doctor, FAULT, "role", "name the master in the URL",
             "this is a replica: nothing can be written here");
    else if (replicas > 0 && !info_has(info, "min_slaves_good_slaves"))
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

/* A setting of Redis, "appendfsync"; "": this login may not read settings
 * (passwords are among them), or the service has no CONFIG. */
static void read_setting(struct doctor *doctor, const char *name, char *value,
                         size_t size)
{
    const char *const words[] = { "CONFIG", "GET", name };
    struct err err = { 0 };
    CLEANUP(cleanup_answer) redisReply *reply = NULL;

    *value = '\0';
    if (doctor_may(doctor, NULL, 0, 3, words) != RIGHT_GIVEN)
        return;
    reply = ASK(doctor, &err, "CONFIG", "GET", name);
    if (reply && reply->elements == 2)
        snprintf(value, size, "%s", reply->element[1]->str);
}

/* The same checks that keep a consumer from serving (info.h). */
static void check_trust(struct doctor *doctor, struct view info)
{
    static const enum level levels[] = {
        [INFO_FINE] = FINE,
        [INFO_UNSEEN] = UNSEEN,
        [INFO_WARNING] = WARNING,
        [INFO_FAULT] = FAULT,
    };
    struct finding findings[INFO_CHECKS];
    char fsync[16];

    read_setting(doctor, "appendfsync", fsync, sizeof(fsync));
    info_judge(info, *fsync ? fsync : NULL, findings);
    for (size_t i = 0; i < INFO_CHECKS; i++)
        find(doctor, levels[findings[i].level], findings[i].check,
             findings[i].remedy, "%s%s", findings[i].text,
             *fsync || strcmp(findings[i].check, "storage") != 0 ||
                     findings[i].level == INFO_UNSEEN
                 ? ""
                 : "; appendfsync is a setting, which this login cannot read");
}

static void check_memory(struct doctor *doctor, struct view info)
{
    uint64_t used = info_number(info, "used_memory");
    uint64_t all = info_number(info, "maxmemory");

    if (!info_has(info, "used_memory") || !info_has(info, "maxmemory"))
        find(doctor, UNSEEN, "memory", "look at the service's own figures",
             "INFO does not say how much memory is used, and of how much");
    else if (all == 0)
        find(doctor, NOTE, "memory",
             "CONFIG SET maxmemory below what the machine has: then new jobs "
             "are refused, and old ones end",
             "%s, without a limit: when the machine is full, Redis is killed",
             term_size(used));
    else
        find(doctor, used * 100 > all * FULL_PERCENT ? WARNING : FINE, "memory",
             used * 100 > all * FULL_PERCENT
                 ? "raise maxmemory, or purge jobs that nobody needs"
                 : NULL,
             "%s of %s", term_size(used), term_size(all));
}

/* INFO says it without CONFIG. */
static void check_clients(struct doctor *doctor, struct view info)
{
    uint64_t now = info_number(info, "connected_clients");
    uint64_t most = info_number(info, "maxclients");
    bool is_near = now * 100 > most * FULL_PERCENT;

    if (most == 0)
        find(doctor, UNSEEN, "clients", "look at the service's own figures",
             "INFO does not say how many connections Redis takes");
    else
        find(doctor, is_near ? WARNING : FINE, "clients",
             is_near ? "raise maxclients, or run fewer consumers with more "
                       "slots: each has three connections for each partition"
                     : NULL,
             "%" PRIu64 " connections of %" PRIu64 "%s", now, most,
             is_near ? "; what comes above is refused" : "");
}

/* Redis's folder, where it runs on this host and its login may read settings.
 */
static void check_folder(struct doctor *doctor)
{
    const char *host = doctor->address.nodes[0].host;
    bool is_here = doctor->address.path || strcmp(host, "127.0.0.1") == 0 ||
                   strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0;
    char dir[512];

    if (!is_here)
        return;
    read_setting(doctor, "dir", dir, sizeof(dir));
    if (*dir)
        doctor_find_full(doctor, dir, "Redis");
}

/* --- durability ----------------------------------------------------------- */

/* Whether a replica follows, and has reported lately: "ip=...,state=online,
 * offset=...,lag=1". */
static bool in_sync(struct view replica)
{
    CLEANUP(cleanup_free) char *text = view_dup(replica);
    const char *lag = strstr(text, ",lag=");

    return strstr(text, ",state=online,") && lag &&
           strtoul(lag + strlen(",lag="), NULL, 10) <= LAG_S;
}

static void check_replicas(struct doctor *doctor, struct view info)
{
    uint64_t connected = info_number(info, "connected_slaves");
    unsigned int wanted = doctor->durability.replicas, ready = 0;

    for (uint64_t i = 0; i < connected; i++) {
        char name[32];

        snprintf(name, sizeof(name), "slave%" PRIu64, i);
        ready += in_sync(info_value(info, name));
    }
    find(doctor, ready < wanted ? FAULT : FINE, "durability",
         ready < wanted ? "connect more replicas, or ask for fewer: "
                          "--durability, QUERN_DURABILITY"
                        : NULL,
         "replica:%u; %u of %" PRIu64 " connected replica%s in sync%s", wanted,
         ready, connected, connected == 1 ? " is" : "s are",
         ready < wanted ? ": calls that write fail with not_durable" : "");
}

/* Whether the server has WAITAOF: Redis 7.2, Valkey. True also when this login
 * may not ask. */
static bool knows_waitaof(struct doctor *doctor)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *known = ASK(doctor, &err, "COMMAND", "INFO", "WAITAOF");

    return !known || known->elements != 1 ||
           known->element[0]->type == REDIS_REPLY_ARRAY;
}

static void check_fsync(struct doctor *doctor, struct view info)
{
    char fsync[16];

    read_setting(doctor, "appendfsync", fsync, sizeof(fsync));
    if (!knows_waitaof(doctor))
        find(doctor, FAULT, "durability",
             "Redis 7.2 or later, or Valkey, has it",
             "fsync needs WAITAOF, which this server lacks");
    else if (!info_is(info, "aof_enabled", "1"))
        find(doctor, FAULT, "durability",
             "CONFIG SET appendonly yes, and in its configuration",
             "fsync needs an append-only file, which this server does not "
             "write");
    else if (strcmp(fsync, "no") == 0)
        find(doctor, FAULT, "durability",
             "CONFIG SET appendfsync everysec, or always",
             "fsync, but the server leaves it to its system when the disk has "
             "what was written (appendfsync no)");
    else if (*fsync == '\0')
        find(doctor, UNSEEN, "durability",
             "redis-cli CONFIG GET appendfsync, as admin: everysec or always",
             "fsync; appendfsync is a setting, which this login cannot read");
    else
        find(doctor, FINE, "durability", NULL,
             "fsync; the server writes through: appendfsync %s", fsync);
}

/* For async there is nothing to check: the check "storage" tells what is lost
 * when. */
static void check_durability(struct doctor *doctor, struct view info)
{
    if (doctor->durability.kind == DURABLE_REPLICA)
        check_replicas(doctor, info);
    else if (doctor->durability.kind == DURABLE_FSYNC)
        check_fsync(doctor, info);
}

/* Redis reads its append-only file as the user "default", also when nobody can
 * log in as it, and leaves out what that may not write
 * (https://github.com/redis/redis/issues/14541). */
static void check_replay(struct doctor *doctor, struct view info)
{
    struct key key = names_of_root(&doctor->names, doctor->partition, "mark");
    struct err err = { 0 };

    if (info_number(info, "aof_enabled") == 0)
        return;
    CLEANUP(cleanup_answer)
    redisReply *answer =
        ASK(doctor, &err, "ACL", "DRYRUN", "default", "SET", key.text, "");
    if (!answer || !answer->str)
        find(doctor, UNSEEN, "replay", NULL,
             "whether a restart reads all of the append-only file: %s",
             err.text);
    else if (strcmp(answer->str, "OK") == 0)
        find(doctor, FINE, "replay", NULL,
             "a restart reads all of the append-only file");
    else
        find(doctor, FAULT, "replay",
             "ACL SETUSER default off ~* &* +@all, and the same line in the "
             "aclfile, before the next restart or rewrite",
             "a restart loses jobs: the user \"default\", as which Redis reads "
             "its append-only file, may not write: %s",
             answer->str);
}

void check_server(struct doctor *doctor)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer) redisReply *info = ASK(doctor, &err, "INFO");

    if (!info) {
        find(doctor, UNSEEN, "server", remedy_of(doctor, err.text), "INFO: %s",
             err.text);
        return;
    }
    struct view text = { info->str, info->len };
    check_role(doctor, text);
    check_trust(doctor, text);
    check_replay(doctor, text);
    check_durability(doctor, text);
    check_memory(doctor, text);
    check_clients(doctor, text);
    check_folder(doctor);
}

/* --- writes --------------------------------------------------------------- */

/* Writes the key that consumers write before they ask how durable it is
 * (durability.h); it expires in a second. */
void check_writes(struct doctor *doctor)
{
    struct key key = names_of_root(&doctor->names, doctor->partition, "mark");
    struct err err = { 0 };

    if (doctor->refuses)
        return;
    CLEANUP(cleanup_answer)
    redisReply *reply = ASK(doctor, &err, "SET", key.text, "", "PX", "1000");
    if (reply)
        find(doctor, FINE, "writes", NULL, "are taken");
    else if (view_starts(view_of(err.text), "NOPERM"))
        find(doctor, UNSEEN, "writes", remedy_of(doctor, err.text),
             "this login may not try: %s", err.text);
    else
        find(doctor, FAULT, "writes", remedy_of(doctor, err.text),
             "are refused, so no job starts or continues: %s", err.text);
}

/* --- clock ---------------------------------------------------------------- */

/* Of a clock that is off by whole hours. */
static const char *clock_remedy(uint64_t off_ms)
{
    uint64_t beside = off_ms % HOUR_MS;
    bool whole =
        off_ms > HOUR_MS / 2 && (beside < 60000 || beside > HOUR_MS - 60000);

    return whole ? "it is off by whole hours: one of the two has local time "
                   "for UTC; set it (timedatectl set-local-rtc 0), then run an "
                   "NTP client on both hosts"
                 : "run an NTP client on both hosts";
}

bool doctor_find_clock(struct doctor *doctor, const char *check,
                       int64_t ahead_ms, const char *whose, ...)
{
    uint64_t off_ms = (uint64_t)(ahead_ms < 0 ? -ahead_ms : ahead_ms);
    char text[256];
    va_list args;

    if (off_ms <= CLOCK_MS)
        return false;
    va_start(args, whose);
    vsnprintf(text, sizeof(text), whose, args);
    va_end(args);
    find(doctor, WARNING, check, clock_remedy(off_ms),
         "%s is %s %s Redis's, which jobs go by", text, term_time(off_ms),
         ahead_ms < 0 ? "behind" : "ahead of");
    return true;
}

void check_clock(struct doctor *doctor)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer) redisReply *reply = ASK(doctor, &err, "TIME");
    struct timespec now;
    int64_t ahead_ms;

    if (!reply || reply->elements != 2) {
        find(doctor, UNSEEN, "clock", remedy_of(doctor, err.text), "TIME: %s",
             err.text);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    ahead_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 -
               strtoll(reply->element[0]->str, NULL, 10) * 1000 -
               strtoll(reply->element[1]->str, NULL, 10) / 1000;
    if (!doctor_find_clock(doctor, "clock", ahead_ms,
                           "this host's, by which schedules and times are "
                           "shown,"))
        find(doctor, FINE, "clock", NULL, "as Redis's");
}
