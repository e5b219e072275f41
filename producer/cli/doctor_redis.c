/* doctor_redis.c - is the function library there, and do consumers take jobs of
 * the queue? By what Redis knows of its clients, without their reports. */
#include <inttypes.h>
#include <string.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"
#include "schemas/redis/operate.h"
#include "schemas/redis/transition.h"

enum {
    SEEN_MS = 60000, /* a living consumer asks for work more often than that */
};

/* A service without functions runs no job; a login may only lack a right that
 * others have. */
static enum level library_level(const char *error)
{
    if (strstr(error, "has no functions"))
        return FAULT;
    return strstr(error, "o permissions") ? UNSEEN : WARNING;
}

/* By conn_call() and not by a handle: a handle would load the library, and a
 * check must change nothing. */
void check_library(struct doctor *doctor)
{
    struct err err = { 0 };
    struct command command;
    CLEANUP(cleanup_answer) redisReply *reply = NULL;

    transition_build_command(&command);
    reply = conn_call(doctor->conn, &command, DOCTOR_CALL_MS, &err);
    command_finish(&command);
    if (!reply && strstr(err.text, "Function not found")) {
        doctor->bare = true;
        find(doctor, NOTE, "library", NULL,
             "the function library is not there yet: the first consumer or "
             "producer loads it");
    } else if (!reply)
        find(doctor, library_level(err.text), "library",
             remedy_of(doctor, err.text), "function library quern_v1: %s",
             err.text);
    else if (reply->integer > (long long)transition_build)
        find(doctor, NOTE, "library", "upgrade this program, too",
             "quern_v1 is build %lld, newer than this client's %u",
             reply->integer, transition_build);
    else if (reply->integer < (long long)transition_build)
        find(doctor, WARNING, "library",
             "start a quern-consumer of this version: it loads the library",
             "function library quern_v1 is build %lld, this client knows %u",
             reply->integer, transition_build);
    else
        find(doctor, FINE, "library", NULL, "quern_v1, build %lld",
             reply->integer);
}

/* A field of a map of XINFO, which is a flat array in RESP2. */
static const redisReply *doctor_redis_field_of(const redisReply *map,
                                               const char *name)
{
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (map->element[i]->type == REDIS_REPLY_STRING &&
            strcmp(map->element[i]->str, name) == 0)
            return map->element[i + 1];
    return NULL;
}

/* How many consumers of the stream have asked for work lately. */
static int count_seen(struct doctor *doctor, const char *stream)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *consumers =
        ASK(doctor, &err, "XINFO", "CONSUMERS", stream, NAMES_GROUP);
    int seen = 0;

    for (size_t i = 0; consumers && i < consumers->elements; i++) {
        const redisReply *idle =
            doctor_redis_field_of(consumers->element[i], "idle");

        seen += idle && idle->integer < SEEN_MS;
    }
    return seen;
}

/* Consumers that are connected, whether they have taken a job or not: each has
 * one connection of this name for each partition. -1: this login may not ask.
 */
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

/* What all partitions say of a queue. */
struct queue_census {
    int seen;      /* consumers that have taken something lately */
    int connected; /* consumers; -1: we may not ask */
    uint64_t jobs, dead;
    bool counted; /* jobs and dead are known */
};

static void doctor_redis_count_jobs(struct doctor *doctor,
                                    unsigned int partition, struct view queue,
                                    struct queue_census *census)
{
    struct err err = { 0 };
    struct command command;
    struct queue_stats stats;
    CLEANUP(cleanup_answer) redisReply *reply = NULL;

    transition_stats(&command, &doctor->names, partition, queue);
    reply = conn_call(doctor->conn, &command, DOCTOR_CALL_MS, &err);
    command_finish(&command);
    census->counted =
        census->counted && reply && transition_stated(reply, &stats, &err);
    if (!census->counted)
        return;
    census->jobs += stats.ready + stats.running + stats.lanes + stats.scheduled;
    census->dead += stats.dead;
}

static void count_partition(struct doctor *doctor, unsigned int partition,
                            struct view queue, struct queue_census *census)
{
    doctor_turn(doctor, partition);
    for (int i = 0; priority_names[i]; i++) {
        struct key key = names_work(&doctor->names, partition, queue, i);
        int seen = count_seen(doctor, key.text);

        census->seen = seen > census->seen ? seen : census->seen;
    }
    doctor_redis_count_jobs(doctor, partition, queue, census);
}

/* A consumer has one such link for each partition, all to the same server
 * unless that is a cluster's. */
static void count_links(struct doctor *doctor, struct queue_census *census)
{
    bool apart = doctor->address.kind == ADDRESS_CLUSTER;
    int here = 1; /* partition 0 is */
    int links;

    doctor_turn(doctor, 0);
    for (unsigned int p = 1; p < doctor->partitions; p++)
        here += !apart || conn_is_at_one(doctor->conns[p], doctor->conns[0]);
    links = count_connected(doctor);
    census->connected = links < 0 ? -1 : (links + here - 1) / here;
}

static struct queue_census count_all(struct doctor *doctor, struct view queue)
{
    struct queue_census census = { .counted = true };

    for (unsigned int p = 0; p < doctor->partitions; p++)
        count_partition(doctor, p, queue, &census);
    count_links(doctor, &census);
    if (census.connected >= 0 && census.seen > census.connected)
        census.seen = census.connected;
    return census;
}

/* Two sources, since neither is enough: XINFO lists a consumer only once it has
 * taken a job (Redis 7.0), and also one that has left; connections have no
 * queue. */
void check_consumers(struct doctor *doctor)
{
    struct view queue = names_or_default(view_of(doctor->app->options.queue));
    struct queue_census census = count_all(doctor, queue);
    char holds[80];

    *doctor->where = '\0';
    snprintf(holds, sizeof(holds), "%s",
             doctor->bare ? "jobs cannot be counted without the library"
                          : "this login may not count the jobs");
    if (census.counted)
        snprintf(holds, sizeof(holds),
                 "%" PRIu64 " jobs wait or run, %" PRIu64 " are dead",
                 census.jobs, census.dead);
    if (census.seen > 0)
        find(doctor, FINE, "consumers", NULL, "%d at queue %.*s, where %s",
             census.seen, VIEW_ARG(queue), holds);
    else if (census.connected > 0)
        find(doctor, FINE, "consumers", NULL,
             "%d connected, none has taken a job of queue %.*s lately, where "
             "%s",
             census.connected, VIEW_ARG(queue), holds);
    else if (census.connected < 0)
        find(doctor, UNSEEN, "consumers",
             "quern worker ls shows what they report of themselves",
             "neither CLIENT LIST nor XINFO shows one; at queue %.*s %s",
             VIEW_ARG(queue), holds);
    else
        find(doctor, FAULT, "consumers", "start one: quern-consumer",
             "none at queue %.*s, where %s", VIEW_ARG(queue), holds);
}
