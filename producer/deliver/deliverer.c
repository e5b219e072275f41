/* deliverer.c - takes deliveries that are due, and has their requests made. */
#include "producer/deliver/deliverer.h"

#include <stdlib.h>
#include <string.h>

#include "producer/deliver/delivery.h"
#include "schemas/redis/reply.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    TAKE_MOST = 64, /* deliveries in a call */
    LEASE_MORE_MS = 2000,
    /* What a slow receiver has too many of: it is taken so often, and each time
     * is work for Redis. */
    PUT_OFF_MS = 3000,
};

struct deliver_poll { /* of one partition */
    struct deliverer *all;
    size_t asked; /* so many deliveries; 0: it is not being asked */
};

struct deliverer {
    struct fleet_place place;
    const struct deliver_settings *settings;
    struct deliver_retries retries;
    struct fleet_links *links;
    struct http *http;
    struct alarm *tick;
    struct alarm *grace; /* while it drains */
    struct delivery *first;
    size_t count;      /* of deliveries */
    size_t reserved;   /* places for those that Redis is being asked for */
    unsigned int turn; /* the partition that is asked first */
    bool draining;
    void (*done)(void *owner);
    void *owner;
    struct deliver_poll polls[NAMES_MAX_PARTITIONS];
};

size_t deliverer_requests(const struct deliverer *deliverer)
{
    return deliverer->count;
}

/* ---------------------------------------------------------------------- list
 */

static void deliverer_add(struct deliverer *all, struct delivery *delivery)
{
    delivery->next = all->first;
    if (all->first)
        all->first->previous = delivery;
    all->first = delivery;
    all->count++;
}

static void deliverer_tell(struct deliverer *all)
{
    void (*done)(void *owner) = all->done;

    all->done = NULL;
    if (done)
        done(all->owner);
}

static void deliverer_drop(struct deliverer *all, struct delivery *delivery)
{
    if (delivery->next)
        delivery->next->previous = delivery->previous;
    if (delivery->previous)
        delivery->previous->next = delivery->next;
    else
        all->first = delivery->next;
    all->count--;
    delivery_free(delivery);
    if (all->draining && all->count + all->reserved == 0)
        deliverer_tell(all);
}

static size_t requests_of(const struct deliverer *all, const char *hook)
{
    size_t count = 0;

    for (const struct delivery *one = all->first; one; one = one->next)
        count += one->call && strcmp(one->hook, hook) == 0;
    return count;
}

/* ------------------------------------------------------------------- settling
 */

/* What Redis has not been told is tried again in on_tick(). */
static void on_settled(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct delivery *delivery = owner;
    struct deliverer *all = delivery->owner;
    struct err err = { 0 };

    (void)why;
    delivery->is_asking = false;
    if (!reply)
        return;
    fleet_links_heed(all->links, delivery->partition, reply);
    if (reply_ok(reply, &err))
        deliverer_drop(all, delivery);
    else
        log_line("hook.unsettled", "{s:s, s:s}", "delivery", delivery->name,
                 "why", err.text);
}

static void settle(struct deliverer *all, struct delivery *delivery)
{
    struct command command;
    struct err err;

    hook_settle(&command, all->place.names, delivery->partition,
                &delivery->settlement);
    delivery->is_asking = fleet_links_call(
        all->links, delivery->partition, &command, on_settled, delivery, &err);
    command_finish(&command);
}

/* Once its lease has ended, another deliverer may have it. */
static void settle_again(struct deliverer *all)
{
    uint64_t now = uv_now(all->place.loop);

    for (struct delivery *one = all->first, *next; one; one = next) {
        next = one->next;
        if (!one->is_over || one->is_asking)
            continue;
        if (now >= one->lease_until)
            deliverer_drop(all, one);
        else
            settle(all, one);
    }
}

static void on_over(void *owner, struct delivery *delivery)
{
    settle(owner, delivery);
}

/* --------------------------------------------------------------------- taking
 */

static uint64_t lease_ms(const struct deliverer *all)
{
    return 2 * all->settings->timeout_ms + LEASE_MORE_MS;
}

static void begin(struct deliverer *all, unsigned int partition,
                  const struct hook_delivery *taken)
{
    struct delivery *delivery = delivery_new(taken, all->settings);

    if (!delivery)
        return;
    delivery->partition = partition;
    delivery->lease_until = uv_now(all->place.loop) + lease_ms(all);
    delivery->over = on_over;
    delivery->owner = all;
    if (all->draining)
        delivery_put_off(delivery, 0);
    else if (requests_of(all, delivery->hook) >=
             all->settings->requests_per_hook)
        delivery_put_off(delivery, delivery_about(PUT_OFF_MS));
    deliverer_add(all, delivery);
    if (delivery->is_over || !delivery_send(delivery, all->http, taken,
                                            all->settings, &all->retries))
        settle(all, delivery);
}

static void poll_partition(struct deliverer *all, struct deliver_poll *poll);

static void on_taken(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct deliver_poll *poll = owner;
    struct deliverer *all = poll->all;
    unsigned int partition = (unsigned int)(poll - all->polls);
    size_t asked = poll->asked, count = 0;
    struct hook_delivery taken;
    struct err err = { 0 };

    (void)why;
    poll->asked = 0;
    all->reserved -= asked;
    if (reply)
        fleet_links_heed(all->links, partition, reply);
    if (reply && !hook_taken(reply, &count, &err))
        log_line("hook.refused", "{s:s}", "why", err.text);
    for (size_t i = 0; i < count; i++)
        if (hook_taken_one(reply->element[i], &taken, &err))
            begin(all, partition, &taken);
        else
            log_line("hook.unreadable", "{s:s}", "why", err.text);
    if (all->draining && all->count + all->reserved == 0)
        deliverer_tell(all);
    else if (count == asked)
        poll_partition(all, poll);
}

/* Leaves places for the other partitions. */
static void poll_partition(struct deliverer *all, struct deliver_poll *poll)
{
    unsigned int partition = (unsigned int)(poll - all->polls);
    size_t used = all->count + all->reserved;
    size_t room =
        all->settings->requests > used ? all->settings->requests - used : 0;
    size_t count = room / 4 + (room > 0);
    struct command command;
    struct err err;

    if (count == 0 || poll->asked > 0 || all->draining)
        return;
    if (count > TAKE_MOST)
        count = TAKE_MOST;
    hook_take(&command, all->place.names, partition, lease_ms(all), count);
    if (fleet_links_call(all->links, partition, &command, on_taken, poll,
                         &err)) {
        poll->asked = count;
        all->reserved += count;
    }
    command_finish(&command);
}

static void on_tick(void *owner)
{
    struct deliverer *all = owner;
    unsigned int partitions = fleet_links_partitions(all->links);

    alarm_set(all->tick, all->settings->poll_ms);
    settle_again(all);
    for (unsigned int i = 0; i < partitions; i++)
        poll_partition(all, &all->polls[(all->turn + i) % partitions]);
    all->turn = partitions > 0 ? (all->turn + 1) % partitions : 0;
}

/* ----------------------------------------------------------------------- life
 */

struct deliverer *deliverer_new(const struct fleet_place *place,
                                const struct deliver_settings *settings)
{
    struct deliverer *all = calloc(1, sizeof(*all));

    if (!all)
        abort();
    all->place = *place;
    all->settings = settings;
    deliver_retries_read(settings->retries, &all->retries, NULL);
    for (size_t i = 0; i < NAMES_MAX_PARTITIONS; i++)
        all->polls[i].all = all;
    all->http = http_new(place->loop);
    if (!all->http) {
        free(all);
        return NULL;
    }
    all->tick = alarm_new(place->loop, on_tick, all);
    return all;
}

void deliverer_start(struct deliverer *deliverer, struct fleet_links *links)
{
    deliverer->links = links;
    alarm_set(deliverer->tick, 0);
}

static void on_grace(void *owner)
{
    deliverer_tell(owner);
}

void deliverer_drain(struct deliverer *deliverer, uint64_t grace_ms,
                     void (*done)(void *owner), void *owner)
{
    bool is_idle = deliverer->count + deliverer->reserved == 0;

    deliverer->draining = true;
    deliverer->done = done;
    deliverer->owner = owner;
    deliverer->grace = alarm_new(deliverer->place.loop, on_grace, deliverer);
    alarm_set(deliverer->grace, is_idle ? 0 : grace_ms);
}

void deliverer_close(struct deliverer *deliverer)
{
    alarm_free(deliverer->tick);
    alarm_free(deliverer->grace);
    for (struct delivery *one = deliverer->first; one; one = one->next) {
        http_cancel(one->call);
        one->call = NULL;
    }
    http_free(deliverer->http, NULL, NULL);
}

void deliverer_free(struct deliverer *deliverer)
{
    if (!deliverer)
        return;
    while (deliverer->first) {
        struct delivery *one = deliverer->first;

        deliverer->first = one->next;
        delivery_free(one);
    }
    free(deliverer);
}
