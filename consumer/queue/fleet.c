/* fleet.c - what all consumers of a fleet have to agree on. */
#include "consumer/queue/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/queue/fleet_endpoints.h"
#include "schemas/redis/link.h"
#include "schemas/redis/partitions.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/slot.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum { ANSWER_MS = 5000, AGAIN_MS = 1000 }; /* for an answer; after an error */

struct fleet {
    struct link *link;
    struct fleet_endpoints *endpoints;
    struct alarm *alarm;
    struct fleet_events events;
    void *owner;
    const struct names *names;
    uint64_t every_ms; /* until the number is set and asked for again */
    size_t wanted;     /* partitions, by the setting; 0: as they are, or 1 */
    size_t known;      /* partitions; 0: not known yet */
    bool refused;      /* and on_refused was called */
};

static void fleet_refuse(struct fleet *fleet, const struct err *why)
{
    if (fleet->known != 0)
        log_line("fleet.refused", "{s:s}", "why", why->text);
    else if (!fleet->refused)
        fleet->events.on_refused(fleet->owner, why);
    fleet->refused = true;
}

static bool fleet_check(struct fleet *fleet, const redisReply *reply,
                        size_t *number, struct err *err)
{
    if (!partitions_read(reply, fleet->names, number, err))
        return false;
    size_t ours = fleet->known != 0 ? fleet->known : fleet->wanted;
    return ours == 0 || ours == *number ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "QUERN_PARTITIONS is %zu here, but the fleet has %zu: it is "
                   "set once, by its first consumer",
                   ours, *number);
}

static void on_number(void *owner, const redisReply *reply,
                      const struct err *lost)
{
    struct fleet *fleet = owner;
    struct err err = { 0 };
    size_t number = 0;
    (void)lost;
    if (!reply)
        return; /* the link says when it is back */
    bool agreed = fleet_check(fleet, reply, &number, &err);
    alarm_set(fleet->alarm, agreed ? fleet->every_ms : AGAIN_MS);
    if (!agreed && err.kind == ERR_REJECT) {
        fleet_refuse(fleet, &err);
    } else if (agreed && fleet->known == 0) {
        fleet->known = number;
        fleet->events.on_known(fleet->owner, number);
    }
}

static void on_set(void *owner, const redisReply *reply, const struct err *lost)
{
    struct err err = { 0 };
    (void)lost;
    if (reply && !reply_ok(reply, &err) && err.kind == ERR_REJECT)
        fleet_refuse(owner, &err);
}

/* The first of these sets the number only if there is none, so that all
 * consumers read the same with the second. */
static void agree(struct fleet *fleet)
{
    size_t number = fleet->known != 0 ? fleet->known : fleet->wanted;
    struct command command;
    partitions_set(&command, fleet->names, number != 0 ? number : 1);
    link_send(fleet->link, &command, ANSWER_MS, on_set, fleet);
    command_finish(&command);
    partitions_ask(&command, fleet->names);
    link_send(fleet->link, &command, ANSWER_MS, on_number, fleet);
    command_finish(&command);
}

static void on_alarm(void *owner)
{
    struct fleet *fleet = owner;
    if (!link_is_ready(fleet->link))
        return;
    fleet_endpoints_look(fleet->endpoints);
    agree(fleet);
}

/* The waits of endpoints are read first. One link answers in order, so they are
 * known before the number of partitions, and so before the first job. */
static void on_ready(void *owner)
{
    struct fleet *fleet = owner;
    fleet_endpoints_ready(fleet->endpoints);
    agree(fleet);
}

static void on_lost(void *owner, const struct err *why)
{
    struct fleet *fleet = owner;
    log_line("redis.lost", "{s:s}", "why", why->text);
    if (strcmp(why->code, "redis_refused") == 0)
        fleet_refuse(fleet, why);
}

struct fleet *fleet_new(struct consumer *consumer,
                        const struct address *address,
                        struct fleet_events events, void *owner)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    if (!fleet)
        abort();
    *fleet = (struct fleet){ .events = events,
                             .owner = owner,
                             .names = &consumer->names,
                             .every_ms = consumer->settings.lease_ms,
                             .wanted = consumer->settings.partitions };
    fleet->alarm = alarm_new(consumer->loop, on_alarm, fleet);
    struct link_events heard = { .on_ready = on_ready, .on_lost = on_lost };
    struct key key = names_fleet(&consumer->names);
    fleet->link = link_new(consumer->loop, address, slot_of(key_view(&key)),
                           "consumer-fleet", heard, fleet);
    fleet->endpoints = fleet_endpoints_new(consumer, fleet->link);
    return fleet;
}

void fleet_open(struct fleet *fleet)
{
    link_open(fleet->link);
}

size_t fleet_partitions(const struct fleet *fleet)
{
    return fleet->known;
}

struct fleet_endpoints *fleet_endpoints(const struct fleet *fleet)
{
    return fleet->endpoints;
}

void fleet_switch(struct fleet *fleet, const struct node *master)
{
    link_switch(fleet->link, master);
}

static void on_closed(void *owner)
{
    struct fleet *fleet = owner;
    fleet_endpoints_free(fleet->endpoints);
    free(fleet);
}

void fleet_free(struct fleet *fleet)
{
    if (!fleet)
        return;
    alarm_free(fleet->alarm);
    fleet->alarm = NULL;
    link_free(fleet->link, on_closed, fleet);
}
