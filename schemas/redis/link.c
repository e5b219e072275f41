/* link.c - an asynchronous connection to Redis on a libuv loop.
 *
 * Three handles run the machine: a line's poll handle while there is a socket,
 * one timer for all deadlines, and an idle handle for what the owner has asked
 * for. The idle handle runs before the loop waits again. So all commands of one
 * round of the loop leave in one write, and no callback comes from inside a
 * call of the owner. */
#include "schemas/redis/link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/machine.h"
#include "schemas/redis/backoff.h"
#include "schemas/redis/channels.h"
#include "schemas/redis/line.h"
#include "schemas/redis/pending.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/resolve.h"
#include "schemas/redis/route.h"
#include "schemas/redis/wire.h"

enum { STEADY_MS = 10000 }; /* ready for so long: back-off begins anew */

/* Of the process. */
static const struct link_observer *observer;

enum link_state {
    LINK_CLOSED,
    LINK_RESOLVING,
    LINK_CONNECTING,
    LINK_GREETING,
    LINK_READY,
    LINK_BACKOFF,
};

struct link {
    uv_loop_t *loop;
    struct route route;
    char *role;
    struct channels channels; /* of a subscriber */
    bool is_subscriber;       /* even of no channel any more */
    struct link_events events;
    void *owner;

    struct machine machine;
    uint64_t entered;      /* ms, the loop's clock, as every deadline here */
    uint64_t deadline;     /* of the state */
    unsigned int failures; /* in a row */

    struct resolve *resolve;
    char ip[RESOLVE_TEXT];
    struct line line;
    redisReply *reply; /* the one that is being answered; NULL when the owner
                          has taken it */
    struct pending_replies pending;

    /* Set by callbacks and by the owner; heed() acts on them. */
    bool wanted;    /* link_open() was called */
    bool freeing;   /* link_free() was called */
    bool failed;    /* the connection is to be broken */
    bool is_late;   /* ... because something took too long */
    struct err why; /* of failed */

    uv_timer_t timer;
    uint64_t timer_at; /* when the timer goes off; NEVER: it is stopped */
    uv_idle_t idle;
    int handles; /* that libuv still has: the last one to close frees the link
                  */
    void (*closed)(void *owner);
    void *closed_owner;
};

static machine_step step_closed, step_resolving, step_connecting, step_greeting,
    step_ready, step_backoff;
static void heed(void *owner);

#define BREAKS (TO(LINK_BACKOFF) | TO(LINK_CLOSED))

static const struct machine_state states[] = {
    [LINK_CLOSED] = { "closed", TO(LINK_RESOLVING), .step = step_closed },
    [LINK_RESOLVING] = { "resolving", TO(LINK_CONNECTING) | BREAKS,
                         .step = step_resolving },
    [LINK_CONNECTING] = { "connecting", TO(LINK_GREETING) | BREAKS,
                          .step = step_connecting },
    [LINK_GREETING] = { "greeting",
                        TO(LINK_RESOLVING) | TO(LINK_READY) | BREAKS,
                        .step = step_greeting },
    [LINK_READY] = { "ready", BREAKS, .step = step_ready },
    [LINK_BACKOFF] = { "backoff", TO(LINK_RESOLVING) | TO(LINK_CLOSED),
                       .step = step_backoff },
};
static const struct machine_kind kind = {
    .name = "a link to Redis",
    .states = states,
    .count = sizeof(states) / sizeof(states[0]),
    .before = heed,
};

/* What has failed when the deadline of a state has passed; NULL: nothing, the
 * deadline ends a wait. */
static const char *const late_words[] = {
    [LINK_RESOLVING] = "no address in time",
    [LINK_CONNECTING] = "no connection in time",
    [LINK_GREETING] = "no answer to the greeting in time",
    [LINK_BACKOFF] = NULL,
};

static void link_run(struct link *link);

static void link_enter(struct link *link, enum link_state state,
                       uint64_t limit_ms)
{
    machine_go(&link->machine, state);
    link->entered = uv_now(link->loop);
    link->deadline = limit_ms == NEVER ? NEVER : link->entered + limit_ms;
}

/* Only notes the failure: heed() breaks the connection before the next step.
 * Always AGAIN, so that a step may end in return fail(...). */
static enum pace link_fail(struct link *link, const struct err *why)
{
    link->failed = true;
    link->is_late = false;
    link->why = *why;
    return AGAIN;
}

static enum pace fail_text(struct link *link, const char *text)
{
    struct err why;

    err_set(&why, ERR_RETRY, "redis_unavailable", "%s", text);
    return link_fail(link, &why);
}

static enum pace fail_late(struct link *link, const char *text)
{
    fail_text(link, text);
    link->is_late = true;
    return AGAIN;
}

/* ------------------------------------------------------------- callbacks */

static void on_stirred(void *owner)
{
    link_run(owner);
}

static void on_resolved(void *owner, const char *ip, const struct err *why)
{
    struct link *link = owner;

    link->resolve = NULL;
    if (ip)
        snprintf(link->ip, sizeof(link->ip), "%s", ip);
    else
        link_fail(link, why);
    link_run(link);
}

static void on_timer(uv_timer_t *timer)
{
    struct link *link = timer->data;

    /* A reply may have come while the loop was busy: read before judging that
     * it is late. */
    if (link->line.wire)
        link->line.seen |= UV_READABLE;
    link->timer_at = NEVER;
    link_run(link);
}

static void on_idle(uv_idle_t *idle)
{
    uv_idle_stop(idle);
    link_run(idle->data);
}

static void destroy(struct link *link)
{
    if (link->closed)
        link->closed(link->closed_owner);
    route_finish(&link->route);
    free(link->role);
    channels_finish(&link->channels);
    free(link);
}

static void on_closed(uv_handle_t *handle)
{
    struct link *link = handle->data;

    if (--link->handles == 0)
        destroy(link);
}

static void on_line_closed(void *owner)
{
    struct link *link = owner;

    if (--link->handles == 0)
        destroy(link);
}

/* ---------------------------------------------------- handles of the loop */

static void soon(struct link *link)
{
    uv_idle_start(&link->idle, on_idle);
}

/* Sets the timer to the next deadline: that of the state or of the oldest call.
 */
static void arm(struct link *link)
{
    uint64_t pending = link->pending.deadline;
    uint64_t at = link->deadline < pending ? link->deadline : pending;
    uint64_t now = uv_now(link->loop);

    if (at == link->timer_at || link->freeing)
        return;
    link->timer_at = at;
    if (at == NEVER)
        uv_timer_stop(&link->timer);
    else
        uv_timer_start(&link->timer, on_timer, at > now ? at - now : 0, 0);
}

static void link_hang_up(struct link *link)
{
    line_close(&link->line);
    resolve_cancel(link->resolve);
    link->resolve = NULL;
}

static bool open_line(struct link *link, const char *ip, struct err *err)
{
    bool held;
    bool opened = line_open(&link->line, &link->route.address,
                            route_node(&link->route), ip, &held, err);

    link->handles += held;
    return opened;
}

/* ------------------------------------------------------------------ calls */

static bool is_clustered(const struct link *link)
{
    return link->route.address.kind == ADDRESS_CLUSTER;
}

/* In a cluster SSUBSCRIBE comes behind SUBSCRIBE, and so does its answer. */
static void heed_subscribed(struct link *link, const char *word,
                            struct view channel)
{
    const char *last = is_clustered(link) ? "ssubscribe" : "subscribe";

    if (strcmp(word, last) == 0 && link->events.on_subscribed &&
        channels_has(&link->channels, channel))
        link->events.on_subscribed(link->owner, channel);
}

/* What a subscriber receives: a confirmation, a message, or the error that it
 * may not subscribe. A node whose slot has moved ends the subscription. */
static void push(struct link *link, const redisReply *reply)
{
    struct view channel;
    const char *word;
    struct err why;

    if (!reply_ok(reply, &why)) {
        link_fail(link, &why);
        return;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return;
    word = reply->element[0]->str;
    channel = (struct view){ reply->element[1]->str, reply->element[1]->len };
    if (strcmp(word, "message") == 0 || strcmp(word, "smessage") == 0) {
        if (link->events.on_push)
            link->events.on_push(link->owner, reply);
    } else if (strcmp(word, "sunsubscribe") == 0) {
        if (channels_has(&link->channels, channel))
            fail_text(link, "another node of the cluster has the channel now");
    } else {
        heed_subscribed(link, word, channel);
    }
}

/* ------------------------------------------------------------ the observer */

void links_observe(const struct link_observer *observing)
{
    observer = observing;
}

static void observe_call(struct pending_reply *call,
                         const struct command *command)
{
    call->sort = observer->sort(command);
    if (call->sort >= 0)
        call->sent_ns = uv_hrtime();
}

/* Before its owner is told, who may take a while. */
static void observe_reply(const struct link *link, const redisReply *reply)
{
    const struct pending_reply *call = link->pending.first;

    if (observer && reply->type == REDIS_REPLY_ERROR)
        observer->on_error(LINK_REFUSED, reply->str);
    if (observer && call && call->sort >= 0)
        observer->on_answer(call->sort, uv_hrtime() - call->sent_ns);
}

static void observe_loss(const struct link *link, bool was_ready)
{
    if (observer)
        observer->on_error(link->is_late ? LINK_LATE
                           : was_ready   ? LINK_LOST
                                         : LINK_UNREACHED,
                           link->why.text);
}

/* False: the reply ends the connection, and is no answer. */
static bool heed_error(struct link *link, const redisReply *reply)
{
    enum reply_cure cure = reply_cure(reply);
    struct err why;

    if (cure == CURE_FOLLOW)
        route_follow(&link->route, reply, &why);
    else if (cure == CURE_RENEW)
        reply_ok(reply, &why);
    else
        return true;
    link_fail(link, &why);
    return false;
}

static void link_answer(struct link *link, const redisReply *reply)
{
    if (!heed_error(link, reply))
        return;
    observe_reply(link, reply);
    if (link->is_subscriber)
        push(link, reply);
    else if (!pending_answer(&link->pending, reply))
        fail_text(link, "a reply that nobody asked for");
}

/* channel: empty: all of them. */
static void put_channels(struct link *link, const char *name,
                         struct view channel)
{
    struct command command;

    command_init(&command, name);
    if (channel.len > 0)
        command_add(&command, channel);
    else
        channels_put(&link->channels, &command);
    wire_put(link->line.wire, &command);
    command_finish(&command);
}

/* In a cluster both ways: what publishes there may be of an older build, or may
 * lack the right to SPUBLISH. */
static void put_subscribe(struct link *link, struct view channel)
{
    put_channels(link, "SUBSCRIBE", channel);
    if (is_clustered(link))
        put_channels(link, "SSUBSCRIBE", channel);
}

static void put_unsubscribe(struct link *link, struct view channel)
{
    put_channels(link, "UNSUBSCRIBE", channel);
    if (is_clustered(link))
        put_channels(link, "SUNSUBSCRIBE", channel);
}

/* ------------------------------------------------------------- the machine */

static enum pace link_start(struct link *link)
{
    const char *host = route_node(&link->route)->host;
    struct err why;

    link_enter(link, LINK_RESOLVING, route_step_ms(&link->route));
    link->ip[0] = '\0';
    if (link->route.address.path || resolve_is_numeric(host))
        return AGAIN;
    link->resolve = resolve_start(link->loop, host, link->failures, on_resolved,
                                  link, &why);
    return link->resolve ? WAIT : link_fail(link, &why);
}

static enum pace step_resolving(void *owner)
{
    struct link *link = owner;
    const char *host = route_node(&link->route)->host;
    const char *ip = link->ip[0] ? link->ip : host;
    struct err why;

    if (link->resolve)
        return WAIT;
    link_enter(link, LINK_CONNECTING, route_step_ms(&link->route));
    return open_line(link, ip, &why) ? WAIT : link_fail(link, &why);
}

static enum pace step_closed(void *owner)
{
    struct link *link = owner;
    if (!link->freeing)
        return link->wanted ? link_start(link) : WAIT;
    /* link_hang_up() has begun to close the line's handle; when the last handle
     * is closed, destroy() frees the link. */
    if (!uv_is_closing((uv_handle_t *)&link->timer)) {
        uv_close((uv_handle_t *)&link->timer, on_closed);
        uv_close((uv_handle_t *)&link->idle, on_closed);
    }
    return WAIT;
}

static enum pace step_connecting(void *owner)
{
    struct link *link = owner;
    struct err why;

    if (!(link->line.seen & UV_WRITABLE))
        return WAIT;
    link->line.seen = 0;
    if (!wire_connected(link->line.wire, &link->route.address,
                        route_node(&link->route), &why))
        return link_fail(link, &why);
    route_greet(&link->route, link->line.wire, link->role);
    link_enter(link, LINK_GREETING, route_step_ms(&link->route));
    return AGAIN;
}

static enum pace arrive(struct link *link)
{
    link_enter(link, LINK_READY, NEVER);
    if (link->channels.count > 0)
        put_subscribe(link, (struct view){ 0 });
    if (link->events.on_ready)
        link->events.on_ready(link->owner);
    return AGAIN;
}

static enum pace step_greeting(void *owner)
{
    struct link *link = owner;
    enum route_step step = ROUTE_LISTEN;
    struct err why;

    if (!line_pump(&link->line, &why))
        return link_fail(link, &why);
    while (step == ROUTE_LISTEN) {
        redisReply *reply = NULL;
        if (!wire_next(link->line.wire, &reply, &why))
            return link_fail(link, &why);
        if (!reply)
            return WAIT;
        step = route_hear(&link->route, reply, &why);
        freeReplyObject(reply);
    }
    if (step == ROUTE_ARRIVED)
        return arrive(link);
    if (step == ROUTE_ASTRAY)
        return link_fail(link, &why);
    link_hang_up(link);
    return link_start(link);
}

static enum pace step_ready(void *owner)
{
    struct link *link = owner;
    struct err why;

    if (!line_pump(&link->line, &why))
        return link_fail(link, &why);
    /* The owner may reset or free the link in any of the callbacks. */
    while (!link->failed && !link->freeing) {
        redisReply *reply = NULL;
        if (!wire_next(link->line.wire, &reply, &why))
            return link_fail(link, &why);
        if (!reply)
            return pending_are_late(&link->pending, uv_now(link->loop))
                       ? fail_late(link, "a call was not answered "
                                         "within its time")
                       : WAIT;
        /* link_keep_reply() may take it over and leave NULL here. */
        link->reply = reply;
        link_answer(link, reply);
        freeReplyObject(link->reply);
        link->reply = NULL;
    }
    return AGAIN;
}

static enum pace step_backoff(void *owner)
{
    struct link *link = owner;
    return uv_now(link->loop) >= link->deadline ? link_start(link) : WAIT;
}

/* Whether another server is tried at once. Only before the link was ready: the
 * owner has not heard of this try, and need not. */
static bool try_another(struct link *link)
{
    if (link->machine.state == LINK_READY) {
        route_leave(&link->route);
        return false;
    }
    return route_stray(&link->route);
}

static void link_lose(struct link *link)
{
    struct err why = link->why;
    bool was_ready = link->machine.state == LINK_READY;
    char name[300];

    route_print(&link->route, name, sizeof(name));
    err_prefix(&why, "Redis at %s", name);
    if (was_ready && uv_now(link->loop) - link->entered >= STEADY_MS)
        link->failures = 0;
    link_hang_up(link);
    if (try_another(link)) {
        link_enter(link, LINK_BACKOFF, 0);
        return;
    }
    observe_loss(link, was_ready);
    /* The state first: a callback below may call link_send(), which must find
     * that the link is not ready, or link_free(). */
    link_enter(link, LINK_BACKOFF, backoff_ms(link->failures++));
    pending_answer_all(&link->pending, &why);
    if (link->events.on_lost)
        link->events.on_lost(link->owner, &why);
}

static void shut(struct link *link)
{
    struct err why;

    err_set(&why, ERR_RETRY, "redis_unavailable", "the link is closed");
    link_hang_up(link);
    link_enter(link, LINK_CLOSED, NEVER);
    pending_answer_all(&link->pending, &why);
}

/* Before each step: what was noted since the last one. */
static void heed(void *owner)
{
    struct link *link = owner;
    const char *late = late_words[link->machine.state];

    if (late && uv_now(link->loop) >= link->deadline)
        fail_late(link, late);
    if (link->freeing && link->machine.state != LINK_CLOSED)
        shut(link);
    else if (link->failed && machine_may_go(&link->machine, LINK_BACKOFF))
        link_lose(link);
    link->failed = false;
}

static void link_run(struct link *link)
{
    bool inside = link->machine.running;

    machine_run(&link->machine);
    /* Deadlines are settled only when the outermost run is over. */
    if (!inside)
        arm(link);
}

/* ------------------------------------------------------------ for the owner */

struct link *link_new(uv_loop_t *loop, const struct address *address,
                      unsigned int slot, const char *role,
                      struct link_events events, void *owner)
{
    struct link *link = calloc(1, sizeof(*link));

    if (!link)
        abort();
    link->loop = loop;
    route_init(&link->route, address, slot);
    link->role = view_dup(view_of(role));
    link->events = events;
    link->owner = owner;
    machine_init(&link->machine, &kind, link, LINK_CLOSED);
    link->deadline = NEVER;
    link->timer_at = NEVER;
    pending_init(&link->pending);
    line_init(&link->line, loop, on_stirred, on_line_closed, link);
    uv_timer_init(loop, &link->timer);
    uv_idle_init(loop, &link->idle);
    link->timer.data = link;
    link->idle.data = link;
    link->handles = 2;
    return link;
}

void link_open(struct link *link)
{
    link->wanted = true;
    soon(link);
}

bool link_is_ready(const struct link *link)
{
    return link->machine.state == LINK_READY && !link->failed && !link->freeing;
}

bool link_send(struct link *link, const struct command *command,
               uint64_t deadline_ms, link_done *done, void *owner)
{
    assert(!link->is_subscriber);
    if (!link_is_ready(link))
        return false;
    struct pending_reply *call = pending_add(&link->pending, done, owner,
                                             uv_now(link->loop) + deadline_ms);
    if (observer)
        observe_call(call, command);
    wire_put(link->line.wire, command);
    arm(link);
    soon(link);
    return true;
}

redisReply *link_keep_reply(struct link *link)
{
    redisReply *reply = link->reply;

    assert(reply);
    link->reply = NULL;
    return reply;
}

void link_subscribe(struct link *link, struct view channel)
{
    assert(link->is_subscriber || !link->pending.first);
    link->is_subscriber = true;
    if (channels_add(&link->channels, channel) && link_is_ready(link)) {
        put_subscribe(link, channel);
        soon(link);
    }
}

void link_unsubscribe(struct link *link, struct view channel)
{
    if (channels_remove(&link->channels, channel) && link_is_ready(link)) {
        put_unsubscribe(link, channel);
        soon(link);
    }
}

void link_switch(struct link *link, const struct node *master)
{
    if (link->freeing)
        return;
    if (link->machine.state == LINK_BACKOFF)
        link->deadline = uv_now(link->loop);
    else if (link->route.named && !route_is_at(&link->route, master))
        fail_text(link, "the master is another one now");
    soon(link);
}

void link_free(struct link *link, void (*closed)(void *owner), void *owner)
{
    link->freeing = true;
    link->closed = closed;
    link->closed_owner = owner;
    uv_timer_stop(&link->timer);
    soon(link);
}
