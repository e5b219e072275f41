/* doctor_redis.c - is the function library there, and does anybody take jobs?
 */
#include <string.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"
#include "schemas/redis/transition.h"

enum {
    SEEN_MS = 60000, /* a living consumer asks for work more often than that */
};

bool check_library(struct doctor *doctor)
{
    struct err err = { 0 };
    struct command command;
    CLEANUP(cleanup_answer) redisReply *reply = NULL;

    transition_build_command(&command);
    reply = conn_call(doctor->conn, &command, DOCTOR_CALL_MS, &err);
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
