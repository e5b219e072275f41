/* link.c - connections: what is sent takes its time, and may be lost on the
 * way there, or its answer on the way back.
 *
 * As schemas/redis/link.h promises: answers in order, callbacks from the loop
 * only, each call answered once. A connection that breaks leaves behind what it
 * had sent and Redis has not read yet: some of that is carried out, late. */
#include "schemas/redis/link.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/redis/backoff.h"
#include "schemas/redis/reply.h"
#include "tests/unit/queue/world.h"

enum { STEADY_MS = 10000 };

struct link_call {
    struct link_call *next;
    link_done *done;
    void *owner;
    uint64_t deadline, at; /* at: it arrives, there or back */
    redisReply *reply;
    bool push;
    struct request request; /* the bytes lie behind */
};

struct line {
    struct link_call *first, **end;
};

struct link {
    struct link *next;
    struct host *host;
    enum role role;
    unsigned int partition, node, failures;
    struct link_events events;
    void *owner;
    enum { LINK_CLOSED, LINK_CONNECTING, LINK_READY } state;
    bool silent, freeing, waits; /* waits: the first that was sent, at Redis */
    struct line sent, answered;
    struct due arrive, answer, timer, late, wait;
    struct client client;
    uint64_t ready_at, last_sent, last_answered, blocked;
    redisReply *reply;
    void (*closed)(void *owner);
    void *closed_owner;
};

static struct link *links;
static uint64_t clients, blocks;

/* ------------------------------------------------------------------- lines */

static void line_init(struct line *line)
{
    line->first = NULL;
    line->end = &line->first;
}

static void line_add(struct line *line, struct link_call *call)
{
    call->next = NULL;
    *line->end = call;
    line->end = &call->next;
}

static struct link_call *line_take(struct line *line)
{
    struct link_call *call = line->first;
    line->first = call->next;
    if (line->first == NULL)
        line->end = &line->first;
    return call;
}

static void call_free(struct link_call *call)
{
    freeReplyObject(call->reply);
    free(call);
}

static struct link_call *call_new(const struct command *command)
{
    size_t count = command == NULL ? 0 : (size_t)command->argc, bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += command->argvlen[i] + 1;
    struct link_call *call =
        malloc(sizeof(*call) + count * sizeof(struct view) + bytes);
    if (call == NULL)
        abort();
    *call = (struct link_call){ .request = { (int)count, NULL } };
    call->request.argv = (struct view *)(call + 1);
    char *at = (char *)(call->request.argv + count);
    for (size_t i = 0; i < count; i++) {
        size_t len = command->argvlen[i];
        memcpy(at, command->argv[i], len);
        at[len] = '\0';
        call->request.argv[i] = (struct view){ at, len };
        at += len + 1;
    }
    return call;
}

/* ---------------------------------------------------------------- at Redis */

static uint64_t way(const struct link *link, uint64_t *last)
{
    uint64_t at = world_now() + chance(link->host->latency_ms + 1);
    if (at < *last)
        at = *last;
    *last = at;
    return at - world_now();
}

static void answer(struct link *link, redisReply *reply)
{
    struct link_call *call = line_take(&link->sent);
    link->waits = false;
    due_stop(&link->wait);
    call->reply = reply;
    call->at = world_now() + way(link, &link->last_answered);
    line_add(&link->answered, call);
    if (link->answer.place == 0)
        due_set(&link->answer, link->answered.first->at - world_now());
}

static void on_arrive(void *owner)
{
    struct link *link = owner;
    while (!link->waits && !link->silent && link->sent.first != NULL &&
           link->sent.first->at <= world_now()) {
        struct answer found =
            redis_execute(&link->client, &link->sent.first->request);
        if (found.reply != NULL) {
            answer(link, found.reply);
        } else {
            link->waits = true;
            link->blocked = ++blocks;
            due_set(&link->wait, found.wait_ms);
        }
    }
    struct link_call *next = link->sent.first;
    if (next != NULL && !link->waits && !link->silent)
        due_set(&link->arrive, next->at - world_now());
}

static void on_waited(void *owner)
{
    struct link *link = owner;
    if (link->silent)
        return;
    answer(link,
           redis_look_again(&link->client, &link->sent.first->request, true));
    on_arrive(link);
}

/* The one that has waited longest; false: none has got what it waits for. */
static bool serve_one(void)
{
    uint64_t after = 0;
    for (;;) {
        struct link *oldest = NULL;
        for (struct link *link = links; link != NULL; link = link->next)
            if (link->waits && !link->silent && link->blocked > after &&
                (oldest == NULL || link->blocked < oldest->blocked))
                oldest = link;
        if (oldest == NULL)
            return false;
        after = oldest->blocked;
        redisReply *reply = redis_look_again(
            &oldest->client, &oldest->sent.first->request, false);
        if (reply != NULL) {
            answer(oldest, reply);
            on_arrive(oldest);
            return true;
        }
    }
}

void links_look_again(void)
{
    while (serve_one())
        continue;
}

void links_unblock(uint64_t client)
{
    for (struct link *link = links; link != NULL; link = link->next)
        if (link->client.id == client && link->waits && !link->silent &&
            redis_is_read(&link->sent.first->request)) {
            due_set(&link->wait, 0);
            return;
        }
}

static void push(struct link *link, const char *channel, const char *text)
{
    struct link_call *call = call_new(NULL);
    call->push = true;
    call->reply = reply_push(channel, text);
    call->at = world_now() + way(link, &link->last_answered);
    line_add(&link->answered, call);
    if (link->answer.place == 0)
        due_set(&link->answer, link->answered.first->at - world_now());
}

void links_publish(unsigned int partition, const char *text)
{
    for (struct link *link = links; link != NULL; link = link->next)
        if (link->role == ROLE_EARS && link->partition == partition &&
            link->state == LINK_READY && !link->silent)
            push(link, "control", text);
}

void links_announce(void)
{
    char text[64];
    unsigned int old = 1 - redis.node;
    snprintf(text, sizeof(text), "master node%u %u node%u %u", old, 7000 + old,
             redis.node, 7000 + redis.node);
    for (struct link *link = links; link != NULL; link = link->next)
        if (link->role == ROLE_SENTINEL && link->state == LINK_READY)
            push(link, "+switch-master", text);
}

/* --------------------------------------------- what the broken leave behind */

struct remains {
    struct due due;
    struct client client;
    struct link_call *call;
};

static void on_remains(void *owner)
{
    struct remains *remains = owner;
    if (remains->client.boot == redis.boots) {
        struct answer found =
            redis_execute(&remains->client, &remains->call->request);
        freeReplyObject(found.reply);
    }
    call_free(remains->call);
    free(remains);
}

/* All up to one of them reach Redis; nobody hears what it says. */
static void leave_behind(struct link *link, struct line *sent)
{
    uint64_t more = odds(20) ? chance(3000) : 0;
    bool reached = odds(70);
    while (sent->first != NULL) {
        struct link_call *call = line_take(sent);
        reached = reached && !odds(30);
        if (!reached) {
            call_free(call);
            continue;
        }
        struct remains *remains = calloc(1, sizeof(*remains));
        if (remains == NULL)
            abort();
        remains->due = (struct due){ .ring = on_remains, .owner = remains };
        remains->client = link->client;
        remains->client.closed = true;
        remains->call = call;
        due_set(&remains->due,
                (call->at > world_now() ? call->at - world_now() : 0) + more);
    }
}

/* ----------------------------------------------------------- at the consumer
 */

static bool can_connect(const struct link *link)
{
    return !link->host->cut && !link->host->dead &&
           (redis.up || link->role == ROLE_SENTINEL);
}

static void on_timer(void *owner);

/* What is not answered is answered so; what is sent meanwhile is refused. */
static void answer_all(struct link *link, const struct err *why)
{
    struct line told = { NULL, NULL }, sent;
    line_init(&told);
    line_init(&sent);
    while (link->answered.first != NULL) {
        struct link_call *call = line_take(&link->answered);
        freeReplyObject(call->reply);
        call->reply = NULL;
        line_add(&told, call);
    }
    while (link->sent.first != NULL) {
        struct link_call *call = line_take(&link->sent);
        struct link_call *copy = call_new(NULL);
        copy->done = call->done;
        copy->owner = call->owner;
        line_add(&told, copy);
        if (!link->waits || odds(50))
            line_add(&sent, call);
        else
            call_free(call);
        link->waits = false;
    }
    leave_behind(link, &sent);
    while (told.first != NULL) {
        struct link_call *call = line_take(&told);
        if (call->done != NULL)
            call->done(call->owner, NULL, why);
        call_free(call);
    }
}

/* silent: as what is sent has got nowhere for a while. */
static void lose(struct link *link, const char *text)
{
    struct err why;
    bool was_ready = link->state == LINK_READY;
    err_set(&why, ERR_RETRY, "redis_unavailable", "%s", text);
    if (was_ready && world_now() - link->ready_at >= STEADY_MS)
        link->failures = 0;
    due_stop(&link->arrive);
    due_stop(&link->answer);
    due_stop(&link->late);
    due_stop(&link->wait);
    link->state = LINK_CONNECTING;
    link->silent = false;
    watch_links(link->host);
    due_set(&link->timer, backoff_ms(link->failures++));
    answer_all(link, &why);
    if (link->events.on_lost != NULL && !link->freeing && !link->host->dead)
        link->events.on_lost(link->owner, &why);
}

void link_break(struct link *link, bool silent)
{
    bool asks = link->role != ROLE_EARS && link->role != ROLE_SENTINEL;
    if (link->state != LINK_READY || link->freeing)
        return;
    link->silent = silent && asks; /* until a call is late */
    watch_links(link->host);
    if (!link->silent)
        lose(link, "the connection is lost");
}

/* An answer that only another connection cures is none. */
static bool cures(const redisReply *reply)
{
    enum reply_cure cure = reply_cure(reply);
    return cure == CURE_FOLLOW || cure == CURE_RENEW;
}

static void deliver(struct link *link, struct link_call *call)
{
    if (call->push) {
        if (link->events.on_push != NULL && !link->host->dead)
            link->events.on_push(link->owner, call->reply);
    } else if (call->done != NULL && !link->host->dead) {
        link->reply = call->reply;
        call->reply = NULL;
        call->done(call->owner, link->reply, NULL);
        call->reply = link->reply;
        link->reply = NULL;
    } else if (call->done != NULL) {
        struct err why;
        err_set(&why, ERR_RETRY, "redis_unavailable", "killed");
        call->done(call->owner, NULL, &why);
    }
    call_free(call);
}

static void on_answer(void *owner)
{
    struct link *link = owner;
    while (link->state == LINK_READY && !link->freeing && !link->silent &&
           link->answered.first != NULL &&
           link->answered.first->at <= world_now()) {
        if (!link->answered.first->push && cures(link->answered.first->reply)) {
            lose(link, "the server is not what it was");
            return;
        }
        deliver(link, line_take(&link->answered));
    }
    if (link->state == LINK_READY && !link->freeing && !link->silent &&
        link->answered.first != NULL && link->answer.place == 0)
        due_set(&link->answer, link->answered.first->at > world_now()
                                   ? link->answered.first->at - world_now()
                                   : 0);
}

static uint64_t first_deadline(const struct link *link)
{
    uint64_t first = UINT64_MAX;
    const struct link_call *lines[] = { link->answered.first,
                                        link->sent.first };
    for (int i = 0; i < 2; i++)
        for (const struct link_call *call = lines[i]; call; call = call->next)
            if (!call->push && call->deadline < first)
                first = call->deadline;
    return first;
}

static void on_late(void *owner)
{
    struct link *link = owner;
    on_answer(link); /* what came while it slept is not late */
    uint64_t first = first_deadline(link);
    if (link->state != LINK_READY || link->freeing || first == UINT64_MAX)
        return;
    if (first <= world_now())
        lose(link, "a call was not answered within its time");
    else
        due_set(&link->late, first - world_now());
}

static void greet(struct link *link)
{
    link->state = LINK_READY;
    link->silent = link->waits = false;
    link->node = redis.node;
    link->ready_at = world_now();
    link->client = (struct client){ .name = link->host->name,
                                    .partition = link->partition,
                                    .id = ++clients,
                                    .boot = redis.boots };
    if (link->role == ROLE_CONTROL)
        link->host->ready_at[link->partition] = world_now();
    watch_links(link->host);
    if (link->events.on_ready != NULL)
        link->events.on_ready(link->owner);
}

static void on_timer(void *owner)
{
    struct link *link = owner;
    if (link->freeing || link->state == LINK_READY)
        return;
    if (can_connect(link))
        greet(link);
    else
        lose(link, "no connection");
}

/* ---------------------------------------------------------- for the consumer
 */

static enum role role_of(const char *role)
{
    static const char *const names[] = {
        [ROLE_CLAIM] = "consumer-claim",
        [ROLE_EARS] = "consumer-ears",
        [ROLE_CONTROL] = "consumer",
        [ROLE_LEDGER] = "consumer-ledger",
        [ROLE_SENTINEL] = "consumer-sentinel",
    };
    int i = 0;
    while (strcmp(names[i], role) != 0)
        i++;
    return (enum role)i;
}

struct link *link_new(uv_loop_t *loop, const struct address *address,
                      unsigned int slot, const char *role,
                      struct link_events events, void *owner)
{
    struct link *link = calloc(1, sizeof(*link));
    if (link == NULL)
        abort();
    (void)address;
    link->host = host_of(loop);
    link->role = role_of(role);
    while (link->role != ROLE_SENTINEL &&
           names_slot(&world.keys, link->partition) != slot)
        link->partition++;
    link->events = events;
    link->owner = owner;
    line_init(&link->sent);
    line_init(&link->answered);
    link->arrive = (struct due){ .ring = on_arrive, .owner = link };
    link->wait = (struct due){ .ring = on_waited, .owner = link };
    link->answer =
        (struct due){ .ring = on_answer, .owner = link, .host = link->host };
    link->timer =
        (struct due){ .ring = on_timer, .owner = link, .host = link->host };
    link->late =
        (struct due){ .ring = on_late, .owner = link, .host = link->host };
    link->next = links;
    links = link;
    link->host->things++;
    return link;
}

void link_open(struct link *link)
{
    link->state = LINK_CONNECTING;
    due_set(&link->timer, chance(3));
}

bool link_is_ready(const struct link *link)
{
    return link->state == LINK_READY && !link->freeing && !link->host->dead;
}

bool link_send(struct link *link, const struct command *command,
               uint64_t deadline_ms, link_done *done, void *owner)
{
    if (!link_is_ready(link))
        return false;
    watch_sent(link->host, command);
    struct link_call *call = call_new(command);
    call->done = done;
    call->owner = owner;
    call->deadline = world_now() + deadline_ms;
    call->at = world_now() + way(link, &link->last_sent);
    line_add(&link->sent, call);
    if (link->arrive.place == 0 && !link->waits)
        due_set(&link->arrive, link->sent.first->at > world_now()
                                   ? link->sent.first->at - world_now()
                                   : 0);
    if (link->late.place == 0 || link->late.at > call->deadline)
        due_set(&link->late, deadline_ms);
    return true;
}

redisReply *link_keep_reply(struct link *link)
{
    redisReply *reply = link->reply;
    link->reply = NULL;
    return reply;
}

void link_subscribe(struct link *link, struct view channel)
{
    (void)link;
    (void)channel;
}

static void on_switch(void *owner)
{
    struct link *link = owner;
    link->timer.ring = on_timer;
    if (link->state == LINK_READY)
        lose(link, "the master is another one now");
    else
        on_timer(link);
}

void links_cut(uint64_t client)
{
    for (struct link *link = links; link != NULL; link = link->next)
        if (link->client.id == client && link->state == LINK_READY &&
            !link->freeing) {
            link->timer.ring = on_switch;
            due_set(&link->timer, 0);
            return;
        }
}

void link_switch(struct link *link, const struct node *master)
{
    bool strange =
        link->state == LINK_READY && master->port != 7000 + (int)link->node;
    if (link->freeing || link->state == LINK_CLOSED ||
        (link->state == LINK_READY && !strange))
        return;
    link->timer.ring = on_switch;
    due_set(&link->timer, 0);
}

static void on_closed(void *owner)
{
    struct link *link = owner;
    struct host *host = link->host;
    struct link **at = &links;
    struct err why;
    err_set(&why, ERR_RETRY, "redis_unavailable", "the link is closed");
    due_stop(&link->arrive);
    due_stop(&link->answer);
    due_stop(&link->late);
    due_stop(&link->wait);
    link->state = LINK_CLOSED;
    answer_all(link, &why);
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    if (link->closed != NULL)
        link->closed(link->closed_owner);
    free(link);
    host_drop(host);
}

void link_free(struct link *link, void (*closed)(void *owner), void *owner)
{
    link->freeing = true;
    link->closed = closed;
    link->closed_owner = owner;
    link->timer.ring = on_closed;
    due_set(&link->timer, 0);
}

/* --------------------------------------------------------------- for the world
 */

static bool is_of(const struct link *link, const struct host *host)
{
    return host == NULL || link->host == host;
}

void links_break(const struct host *host, bool silent)
{
    for (struct link *link = links; link != NULL; link = link->next)
        if (is_of(link, host) && link->role != ROLE_SENTINEL)
            link_break(link, silent);
}

void links_break_one(const struct host *host, unsigned int which)
{
    for (struct link *link = links; link != NULL; link = link->next)
        if (is_of(link, host) && link->state == LINK_READY && which-- == 0) {
            link_break(link, odds(30));
            return;
        }
}

size_t links_count(void)
{
    size_t count = 0;
    for (const struct link *link = links; link != NULL; link = link->next)
        count++;
    return count;
}

bool links_are_ready(const struct host *host)
{
    for (const struct link *link = links; link != NULL; link = link->next)
        if (link->host == host && (link->state != LINK_READY || link->silent))
            return false;
    return true;
}

bool links_claim(const struct host *host, unsigned int partition)
{
    for (const struct link *link = links; link != NULL; link = link->next)
        if (link->host == host && link->role == ROLE_CLAIM &&
            link->partition == partition)
            return link->sent.first != NULL || link->answered.first != NULL;
    return false;
}

bool links_hear(const struct host *host, unsigned int partition)
{
    for (const struct link *link = links; link != NULL; link = link->next)
        if (link->host == host && link->role == ROLE_EARS &&
            link->partition == partition)
            return link->state == LINK_READY && !link->silent;
    return false;
}

bool links_listen(const struct host *host, uint64_t since)
{
    for (const struct link *link = links; link != NULL; link = link->next)
        if (link->host == host && link->role == ROLE_SENTINEL)
            return link->state == LINK_READY && link->ready_at < since;
    return false;
}

void links_wake(void)
{
    for (struct link *link = links; link != NULL; link = link->next)
        if (link->silent && link->state == LINK_READY && !link->freeing)
            lose(link, "it was silent");
}

size_t links_astray(const struct host *host)
{
    size_t count = 0;
    for (const struct link *link = links; link != NULL; link = link->next)
        count += link->host == host && link->role != ROLE_SENTINEL &&
                 link->state == LINK_READY && link->node != redis.node;
    return count;
}
