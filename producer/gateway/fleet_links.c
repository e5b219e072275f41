/* fleet_links.c - a program's connections to Redis.
 *
 *   UNUSED --a call--> OPENING --library is there--> READY
 *                        ^ ready again                 |
 *                        '-------- AWAY <-- lost ------'
 *
 * In OPENING calls wait; in AWAY they fail at once, since nobody knows for how
 * long. */
#include "producer/gateway/fleet_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/redis/partitions.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/sentinel.h"
#include "schemas/redis/slot.h"
#include "schemas/redis/transition.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum { ASK_AGAIN_MS = 1000 }; /* for the number of partitions, or the library */
enum { LINKS = NAMES_MAX_PARTITIONS + 1 };

enum fleet_link_state {
    FLEET_LINK_UNUSED,
    FLEET_LINK_OPENING,
    FLEET_LINK_READY,
    FLEET_LINK_AWAY,
};

/* A call that waits for its link; the command's bytes are behind the struct. */
struct waiting_call {
    struct waiting_call *next;
    link_done *done;
    void *owner;
    struct command command;
};

struct fleet_link {
    struct fleet_links *all;
    struct link *link;
    enum fleet_link_state state;
    struct waiting_call *first, **end;
    size_t count;
};

struct fleet_links {
    struct fleet_place place;
    struct fleet_links_events events;
    void *owner;
    struct sentinel *sentinel;
    struct alarm *again; /* asks for the number of partitions */
    unsigned int partitions;
    bool is_set;  /* a consumer has set the number: it never changes */
    bool welcome; /* some link was ready once */
    bool refused; /* on_refused was called */
    bool freeing;
    size_t open; /* links that libuv still has */
    struct fleet_link list[LINKS];
};

static void links_refuse(struct fleet_links *links, const struct err *why)
{
    if (links->welcome || links->refused || links->freeing)
        return;
    links->refused = true;
    links->events.on_refused(links->owner, why);
}

/* ----------------------------------------------------------- waiting calls */

static bool call_wait(struct fleet_link *one, const struct command *command,
                      link_done *done, void *owner, struct err *err)
{
    if (one->count == FLEET_MOST_WAITING)
        return err_set(err, ERR_RETRY, "redis_unavailable",
                       "%d calls wait for a connection to Redis already",
                       FLEET_MOST_WAITING);
    struct waiting_call *call =
        malloc(sizeof(*call) + command_copy_bytes(command));
    if (!call)
        abort();
    *call = (struct waiting_call){ .done = done, .owner = owner };
    command_copy(&call->command, command, call + 1);
    *one->end = call;
    one->end = &call->next;
    one->count++;
    return true;
}

static struct waiting_call *take_waiting(struct fleet_link *one)
{
    struct waiting_call *first = one->first;

    one->first = NULL;
    one->end = &one->first;
    one->count = 0;
    return first;
}

static uint64_t answer_ms(const struct fleet_link *one)
{
    return one->all->place.redis_ms;
}

/* done: NULL: nobody wants to know (fleet_links_tell()). */
static void refuse_call(const struct waiting_call *call, const struct err *why)
{
    if (call->done)
        call->done(call->owner, NULL, why);
}

static void send_waiting(struct fleet_link *one)
{
    static const struct err lost = { ERR_RETRY, "redis_unavailable",
                                     "the connection to Redis was lost" };

    for (struct waiting_call *call = take_waiting(one), *next; call;
         call = next) {
        next = call->next;
        if (!link_send(one->link, &call->command, answer_ms(one), call->done,
                       call->owner))
            refuse_call(call, &lost);
        free(call);
    }
}

static void fail_waiting(struct fleet_link *one, const struct err *why)
{
    for (struct waiting_call *call = take_waiting(one), *next; call;
         call = next) {
        next = call->next;
        refuse_call(call, why);
        free(call);
    }
}

/* ----------------------------------------------------------------- library */

static void fleet_link_serve(struct fleet_link *one)
{
    one->state = FLEET_LINK_READY;
    one->all->welcome = true;
    send_waiting(one);
}

static void on_loaded(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct fleet_link *one = owner;
    struct err err = { 0 };

    (void)why;
    if (!reply)
        return; /* on_lost() has failed what waits */
    if (reply_ok(reply, &err)) {
        log_line("library.loaded", "{s:I}", "build",
                 (json_int_t)transition_build);
        fleet_link_serve(one);
        return;
    }
    log_line("library.refused", "{s:s}", "why", err.text);
    one->state = FLEET_LINK_AWAY;
    alarm_set(one->all->again, ASK_AGAIN_MS);
    fail_waiting(one, &err);
    if (err.kind == ERR_REJECT)
        links_refuse(one->all, &err);
}

/* A library of an older build is left alone: consumers are upgraded first. */
static void on_build(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct fleet_link *one = owner;
    struct command command;

    (void)why;
    if (!reply)
        return;
    if (reply_cure(reply) != CURE_LOAD) {
        fleet_link_serve(one);
        return;
    }
    transition_load_command(&command);
    link_send(one->link, &command, answer_ms(one), on_loaded, one);
    command_finish(&command);
}

static void fleet_link_check(struct fleet_link *one)
{
    struct command command;

    transition_build_command(&command);
    link_send(one->link, &command, answer_ms(one), on_build, one);
    command_finish(&command);
}

/* ------------------------------------------------------------------ number */

static void on_number(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct fleet_links *links = owner;
    struct err err = { 0 };
    size_t number = 1;
    bool first = links->partitions == 0;

    (void)why;
    if (links->freeing)
        return;
    alarm_set(links->again, ASK_AGAIN_MS);
    if (!reply)
        return;
    links->is_set = reply->type != REDIS_REPLY_NIL;
    if (links->is_set &&
        !partitions_read(reply, links->place.names, &number, &err)) {
        log_line("fleet.refused", "{s:s}", "why", err.text);
        links->is_set = false;
        if (err.kind == ERR_REJECT)
            links_refuse(links, &err);
        return;
    }
    links->partitions = (unsigned int)number;
    if (links->is_set)
        alarm_stop(links->again);
    if (first)
        links->events.on_ready(links->owner);
}

static void ask_number(struct fleet_links *links)
{
    struct command command;
    struct err err;

    partitions_ask(&command, links->place.names);
    if (!fleet_links_call(links, FLEET_SLOT, &command, on_number, links, &err))
        alarm_set(links->again, ASK_AGAIN_MS);
    command_finish(&command);
}

static void on_again(void *owner)
{
    struct fleet_links *links = owner;

    for (size_t i = 0; i < LINKS; i++) {
        struct fleet_link *one = &links->list[i];

        if (one->state == FLEET_LINK_AWAY && link_is_ready(one->link))
            fleet_link_check(one);
    }
    if (!links->is_set)
        ask_number(links);
}

/* ------------------------------------------------------------------- links */

static void on_link_ready(void *owner)
{
    struct fleet_link *one = owner;

    if (one->state == FLEET_LINK_AWAY)
        one->state = FLEET_LINK_OPENING;
    fleet_link_check(one);
}

static void on_link_lost(void *owner, const struct err *why)
{
    struct fleet_link *one = owner;

    one->state = FLEET_LINK_AWAY;
    log_line("redis.lost", "{s:s}", "why", why->text);
    fail_waiting(one, why);
    if (strcmp(why->code, "redis_refused") == 0)
        links_refuse(one->all, why);
}

static struct fleet_link *link_of(struct fleet_links *links,
                                  unsigned int partition)
{
    bool is_cluster = links->place.redis->kind == ADDRESS_CLUSTER;

    return &links->list[is_cluster ? partition : FLEET_SLOT];
}

static unsigned int slot_of_partition(const struct names *names,
                                      unsigned int partition)
{
    struct key fleet = names_fleet(names);

    return partition == FLEET_SLOT ? slot_of(key_view(&fleet))
                                   : names_slot(names, partition);
}

static void fleet_link_open(struct fleet_links *links, struct fleet_link *one,
                            unsigned int partition)
{
    struct link_events events = { .on_ready = on_link_ready,
                                  .on_lost = on_link_lost };
    const struct fleet_place *place = &links->place;

    one->state = FLEET_LINK_OPENING;
    one->link = link_new(place->loop, place->redis,
                         slot_of_partition(place->names, partition),
                         place->role, events, one);
    links->open++;
    link_open(one->link);
}

bool fleet_links_call(struct fleet_links *links, unsigned int partition,
                      const struct command *command, link_done *done,
                      void *owner, struct err *err)
{
    struct fleet_link *one = link_of(links, partition);

    if (links->freeing)
        return err_set(err, ERR_RETRY, "draining",
                       "this program is about to end");
    if (one->state == FLEET_LINK_UNUSED)
        fleet_link_open(links, one, partition);
    if (one->state == FLEET_LINK_OPENING)
        return call_wait(one, command, done, owner, err);
    return (one->state == FLEET_LINK_READY &&
            link_send(one->link, command, answer_ms(one), done, owner)) ||
           err_set(err, ERR_RETRY, "redis_unavailable",
                   "there is no connection to Redis");
}

void fleet_links_tell(struct fleet_links *links, unsigned int partition,
                      const struct command *command, const char *what)
{
    struct err err;

    if (!fleet_links_call(links, partition, command, NULL, NULL, &err))
        log_line("redis.unsent", "{s:s, s:s}", "of", what, "why", err.text);
}

redisReply *fleet_links_keep_reply(struct fleet_links *links,
                                   unsigned int partition)
{
    return link_keep_reply(link_of(links, partition)->link);
}

void fleet_links_heed(struct fleet_links *links, unsigned int partition,
                      const redisReply *reply)
{
    struct fleet_link *one = link_of(links, partition);

    if (reply_cure(reply) != CURE_LOAD || one->state != FLEET_LINK_READY ||
        !link_is_ready(one->link))
        return;
    one->state = FLEET_LINK_OPENING;
    fleet_link_check(one);
}

unsigned int fleet_links_partitions(const struct fleet_links *links)
{
    return links->partitions;
}

bool fleet_links_find(void *links, struct view tenant, unsigned int *partition,
                      struct err *err)
{
    unsigned int count = fleet_links_partitions(links);

    if (count == 0)
        return err_set(err, ERR_RETRY, "redis_unavailable",
                       "the fleet is not known yet: there is no connection "
                       "to Redis");
    *partition = names_partition(tenant, count);
    return true;
}

bool fleet_links_are_ready(const struct fleet_links *links)
{
    for (size_t i = 0; i < LINKS; i++)
        if (links->list[i].state != FLEET_LINK_READY &&
            links->list[i].state != FLEET_LINK_UNUSED)
            return false;
    return links->partitions > 0;
}

static void on_switched(void *owner, const struct node *master)
{
    struct fleet_links *links = owner;

    log_line("redis.switched", "{s:s, s:I}", "host", master->host, "port",
             (json_int_t)master->port);
    for (size_t i = 0; i < LINKS; i++)
        if (links->list[i].link)
            link_switch(links->list[i].link, master);
    links->events.on_switched(links->owner, master);
}

/* -------------------------------------------------------------------- life */

struct fleet_links *fleet_links_new(const struct fleet_place *place,
                                    struct fleet_links_events events,
                                    void *owner)
{
    struct fleet_links *links = calloc(1, sizeof(*links));
    char role[64];

    if (!links)
        abort();
    links->place = *place;
    snprintf(role, sizeof(role), "%s-sentinel", place->role);
    links->events = events;
    links->owner = owner;
    for (size_t i = 0; i < LINKS; i++) {
        links->list[i].all = links;
        links->list[i].end = &links->list[i].first;
    }
    links->again = alarm_new(place->loop, on_again, links);
    links->sentinel =
        sentinel_new(place->loop, place->redis, role, on_switched, links);
    links->open = 1; /* itself, until fleet_links_free() */
    ask_number(links);
    return links;
}

static void on_link_closed(void *owner)
{
    struct fleet_links *links = owner;

    if (--links->open == 0)
        free(links);
}

void fleet_links_free(struct fleet_links *links)
{
    static const struct err ending = { ERR_RETRY, "draining",
                                       "this program is about to end" };

    if (!links)
        return;
    links->freeing = true;
    alarm_free(links->again);
    sentinel_free(links->sentinel);
    for (size_t i = 0; i < LINKS; i++) {
        fail_waiting(&links->list[i], &ending);
        if (links->list[i].link)
            link_free(links->list[i].link, on_link_closed, links);
    }
    on_link_closed(links);
}
