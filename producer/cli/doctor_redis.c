/* doctor_redis.c - can Redis hold jobs, and does anybody take them? */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"
#include "schemas/redis/transition.h"

enum {
    CALL_MS = 3000,
    SEEN_MS = 60000, /* a living consumer asks for work more often than that */
};

static redisReply *ask(struct doctor *doctor, struct err *err, int count,
                       const char *const *words)
{
    struct command command;
    redisReply *reply;

    command_init(&command, words[0]);
    for (int i = 1; i < count; i++)
        command_add_text(&command, words[i]);
    reply = conn_call(doctor->conn, &command, CALL_MS, err);
    command_finish(&command);
    return reply;
}
#define ASK(doctor, err, ...)                                                  \
    ask(doctor, err,                                                           \
        (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),       \
        (const char *[]){ __VA_ARGS__ })

static void cleanup_answer(redisReply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
}

/* A line "name:value" of INFO. */
static bool info_line(const redisReply *info, const char *name, char *value,
                      size_t size)
{
    size_t len = strlen(name);
    const char *line = info->str;

    while (line && (strncmp(line, name, len) != 0 || line[len] != ':')) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return false;
    line += len + 1;
    snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
    return true;
}

/* --- the checks: each false when the next ones make no sense ----------------
 */

bool check_redis(struct doctor *doctor)
{
    struct err err = { 0 };
    char where[256];
    struct timespec begin, end;
    CLEANUP(cleanup_answer) redisReply *pong = ASK(doctor, &err, "PING");

    address_print(&doctor->address, where, sizeof(where));
    if (!pong) {
        find(doctor, FAULT, "redis",
             "start Redis, or say where it is and who you are: --redis-url, "
             "REDIS_URL",
             "%s: %s", where, err.text);
        return false;
    }
    /* Once more: the first one connected. */
    clock_gettime(CLOCK_MONOTONIC, &begin);
    CLEANUP(cleanup_answer) redisReply *again = ASK(doctor, &err, "PING");
    clock_gettime(CLOCK_MONOTONIC, &end);
    find(doctor, again ? FINE : FAULT, "redis", again ? NULL : err.text,
         "%s, answers in %.2f ms", where,
         (double)(end.tv_sec - begin.tv_sec) * 1e3 +
             (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
    return true;
}

static void check_version(struct doctor *doctor, const redisReply *info)
{
    char version[32] = "unknown", valkey[32] = "";

    info_line(info, "redis_version", version, sizeof(version));
    info_line(info, "valkey_version", valkey, sizeof(valkey));
    if (strtoul(version, NULL, 10) < 7)
        find(doctor, FAULT, "version", "install Redis 7.0 or later, or Valkey",
             "Redis %s lacks functions; 7.0 is the least", version);
    else
        find(doctor, FINE, "version", NULL, "%s %s",
             *valkey ? "Valkey" : "Redis", *valkey ? valkey : version);
}

static void check_storage(struct doctor *doctor, const redisReply *info)
{
    char value[8] = "";

    info_line(info, "aof_enabled", value, sizeof(value));
    if (strcmp(value, "1") == 0)
        find(doctor, FINE, "storage", NULL, "append-only file is on");
    else
        find(doctor, WARNING, "storage",
             "redis-cli CONFIG SET appendonly yes, and in redis.conf",
             "no append-only file: a restart of Redis loses the jobs since "
             "the last snapshot");
}

static void check_eviction(struct doctor *doctor, const redisReply *info)
{
    char value[32] = "unknown";

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
    struct err err = { 0 };
    CLEANUP(cleanup_answer) redisReply *info = ASK(doctor, &err, "INFO");

    if (!info) {
        find(doctor, NOTE, "server", "ask as its operator",
             "this login may not look at it: %s", err.text);
        return true;
    }
    check_version(doctor, info);
    check_storage(doctor, info);
    check_eviction(doctor, info);
    return true;
}

bool check_library(struct doctor *doctor)
{
    struct err err = { 0 };
    struct command command;
    CLEANUP(cleanup_answer) redisReply *reply = NULL;

    transition_build_command(&command);
    reply = conn_call(doctor->conn, &command, CALL_MS, &err);
    command_finish(&command);
    if (!reply)
        find(doctor, WARNING, "library",
             "start a quern-consumer: it loads the library",
             "function library quern_v1: %s", err.text);
    else if (reply->integer < (long long)transition_build)
        find(doctor, WARNING, "library",
             "start a quern-consumer of this version: it loads the library",
             "function library quern_v1 is build %lld, this client knows %u",
             reply->integer, transition_build);
    else
        find(doctor, FINE, "library", NULL, "quern_v1, build %lld",
             reply->integer);
    return true;
}

/* A field of one map of XINFO (a flat array in RESP2). */
static const redisReply *field_of(const redisReply *map, const char *name)
{
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (strcmp(map->element[i]->str, name) == 0)
            return map->element[i + 1];
    return NULL;
}

/* How many consumers of one stream have been heard of lately. */
static int count_seen(struct doctor *doctor, const char *stream)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *consumers =
        ASK(doctor, &err, "XINFO", "CONSUMERS", stream, NAMES_GROUP);
    int seen = 0;

    for (size_t i = 0; consumers && i < consumers->elements; i++) {
        const redisReply *idle = field_of(consumers->element[i], "idle");

        seen += idle && idle->integer < SEEN_MS;
    }
    return seen;
}

/* Consumers that are connected, whatever they have taken: each holds one link
 * of this name. -1 when we may not ask. */
static int count_connected(struct doctor *doctor)
{
    static const char name[] = " name=quern-consumer-claim ";
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *list = ASK(doctor, &err, "CLIENT", "LIST", "TYPE", "NORMAL");
    const char *at = list ? list->str : NULL;
    int count = list ? 0 : -1;

    while (at && (at = strstr(at, name))) {
        at += strlen(name);
        count++;
    }
    return count;
}

static long long ask_count(struct doctor *doctor, const char *command,
                           const struct key *key)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *reply = ASK(doctor, &err, command, key->text);

    return reply ? reply->integer : 0;
}

/* Redis 7.0 lists a consumer only once it has taken a job, and any version also
 * one that has left. */
bool check_consumers(struct doctor *doctor)
{
    const char *name = doctor->app->options.queue;
    struct view queue = name ? view_of(name) : VIEW("default");
    struct key dead = names_dead(&doctor->names, 0, queue);
    char holds[80];
    long long jobs = 0;
    int connected = count_connected(doctor);
    int seen = 0;

    for (int i = 0; priority_names[i]; i++) {
        struct key key = names_work(&doctor->names, 0, queue, i);
        int now = count_seen(doctor, key.text);

        jobs += ask_count(doctor, "XLEN", &key);
        seen = now > seen ? now : seen;
    }
    snprintf(holds, sizeof(holds), "%lld jobs wait or run, %lld are dead", jobs,
             ask_count(doctor, "ZCARD", &dead));
    if (connected >= 0 && seen > connected)
        seen = connected;
    if (seen > 0)
        find(doctor, FINE, "consumers", NULL, "%d at queue %.*s, where %s",
             seen, VIEW_ARG(queue), holds);
    else if (connected > 0)
        find(doctor, FINE, "consumers", NULL,
             "%d connected, none has taken a job of queue %.*s lately, where "
             "%s",
             connected, VIEW_ARG(queue), holds);
    else if (connected < 0)
        find(doctor, NOTE, "consumers", "ask as Redis's operator",
             "this login may not look for them; at queue %.*s %s",
             VIEW_ARG(queue), holds);
    else
        find(doctor, FAULT, "consumers", "start one: quern-consumer",
             "none at queue %.*s, where %s", VIEW_ARG(queue), holds);
    return true;
}
