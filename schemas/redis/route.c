/* route.c - the way from an address to the server that is meant. */
#include "schemas/redis/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/redis/reply.h"
#include "schemas/redis/wire.h"

enum {
    MAX_NODES = 64,           /* to ask, of a cluster */
    MAX_HOPS = 5,             /* more: servers name each other in a circle */
    PATIENCE_MS = 5000,       /* for one step, where there is one server */
    SHORT_PATIENCE_MS = 1000, /* where there are others to try */
};

void route_init(struct route *route, const struct address *address,
                unsigned int slot)
{
    size_t room =
        address->kind == ADDRESS_CLUSTER ? MAX_NODES : address->node_count;

    *route = (struct route){ .slot = slot };
    address_copy(&route->address, address);
    route->nodes = calloc(room, sizeof(*route->nodes));
    if (!route->nodes)
        abort();
    route->count = address->node_count;
    memcpy(route->nodes, address->nodes,
           address->node_count * sizeof(*route->nodes));
}

void route_finish(struct route *route)
{
    address_finish(&route->address);
    free(route->nodes);
    *route = (struct route){ 0 };
}

const struct node *route_node(const struct route *route)
{
    return route->named ? &route->target : &route->nodes[route->at];
}

uint64_t route_step_ms(const struct route *route)
{
    return route->address.kind == ADDRESS_SERVER ? PATIENCE_MS
                                                 : SHORT_PATIENCE_MS;
}

/* ------------------------------------------------------------- greeting */

static bool is_sentinel(const struct route *route)
{
    return route->address.kind == ADDRESS_SENTINEL && !route->named;
}

static void route_ask(struct route *route, redisContext *wire,
                      const char *first, const char *second, const char *third)
{
    struct command command;

    command_init(&command, first);
    if (second)
        command_add_text(&command, second);
    if (third)
        command_add_text(&command, third);
    wire_put(wire, &command);
    command_finish(&command);
    route->owed++;
}

static void ask_the_way(struct route *route, redisContext *wire)
{
    if (is_sentinel(route))
        route_ask(route, wire, "SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                  route->address.master);
    else if (route->address.kind == ADDRESS_SENTINEL)
        route_ask(route, wire, "ROLE", NULL, NULL);
    else if (route->address.kind == ADDRESS_CLUSTER)
        route_ask(route, wire, "CLUSTER", "SLOTS", NULL);
}

void route_greet(struct route *route, redisContext *wire, const char *role)
{
    const struct address *address = &route->address;
    bool sentinel = is_sentinel(route);
    const char *user = sentinel ? NULL : address->user;
    const char *password =
        sentinel ? address->sentinel_password : address->password;
    char text[64];

    route->owed = 0;
    if (password && user)
        route_ask(route, wire, "AUTH", user, password);
    else if (password)
        route_ask(route, wire, "AUTH", password, NULL);
    if (address->db > 0 && !sentinel) {
        snprintf(text, sizeof(text), "%d", address->db);
        route_ask(route, wire, "SELECT", text, NULL);
    }
    snprintf(text, sizeof(text), "quern-%s", role);
    route_ask(route, wire, "CLIENT", "SETNAME", text);
    ask_the_way(route, wire);
}

/* ------------------------------------------------------------ the answers */

static enum route_step astray(struct err *err, const char *text)
{
    err_set(err, ERR_RETRY, "redis_unavailable", "%s", text);
    return ROUTE_ASTRAY;
}

static enum route_step arrived(struct route *route)
{
    route->tried = 0;
    route->hops = 0;
    return ROUTE_ARRIVED;
}

static bool node_is(const struct node *a, const struct node *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* The server has named another one. */
static enum route_step go_to(struct route *route, const struct node *node,
                             struct err *err)
{
    if (++route->hops > MAX_HOPS)
        return astray(err, "each server names another one");
    route->target = *node;
    route->named = true;
    return ROUTE_ON;
}

static bool route_is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING ||
           reply->type == REDIS_REPLY_STATUS;
}

static bool is_array(const redisReply *reply, size_t least)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements >= least;
}

/* [host, port], or nil. */
static enum route_step hear_sentinel(struct route *route,
                                     const redisReply *reply, struct err *err)
{
    struct node node;

    if (reply->type == REDIS_REPLY_NIL) {
        err_set(err, ERR_REJECT, "redis_refused",
                "the sentinel knows no master called \"%s\"",
                route->address.master);
        return ROUTE_ASTRAY;
    }
    if (!is_array(reply, 2) || !route_is_text(reply->element[0]) ||
        !route_is_text(reply->element[1]) ||
        !node_set(
            &node,
            (struct view){ reply->element[0]->str, reply->element[0]->len },
            strtoull(reply->element[1]->str, NULL, 10)))
        return astray(err, "the sentinel named no address");
    return go_to(route, &node, err);
}

/* ["master", ...]. An error is no failure: the login may not call ROLE. If the
 * server is a replica, READONLY will say so. */
static enum route_step hear_role(struct route *route, const redisReply *reply,
                                 struct err *err)
{
    if (is_array(reply, 1) && route_is_text(reply->element[0]) &&
        strcmp(reply->element[0]->str, "master") != 0)
        return astray(err, "it is not a master: the sentinels have not "
                           "agreed on one yet");
    return arrived(route);
}

/* [host, port, id, ...]; no host, or "?": that of the node that was asked. */
static bool read_node(const struct node *asked, const redisReply *reply,
                      struct node *node)
{
    struct view host = view_of(asked->host);

    if (!is_array(reply, 2) || reply->element[1]->type != REDIS_REPLY_INTEGER)
        return false;
    const redisReply *named = reply->element[0];
    if (route_is_text(named) && named->len > 0 && strcmp(named->str, "?") != 0)
        host = (struct view){ named->str, named->len };
    return node_set(node, host, (uint64_t)reply->element[1]->integer);
}

static void learn(struct route *route, const struct node *node)
{
    for (size_t i = 0; i < route->count; i++)
        if (node_is(&route->nodes[i], node))
            return;
    if (route->count < MAX_NODES)
        route->nodes[route->count++] = *node;
}

static bool has_slot(const redisReply *range, unsigned int slot)
{
    return range->element[0]->type == REDIS_REPLY_INTEGER &&
           range->element[1]->type == REDIS_REPLY_INTEGER &&
           range->element[0]->integer <= (long long)slot &&
           range->element[1]->integer >= (long long)slot;
}

/* [[first, last, master, replica...], ...]. Finds the master of the slot, and
 * learns which nodes can be asked another time: the masters, and the replicas
 * of our slot. Those of the address come last, since they may be gone. */
static enum route_step hear_slots(struct route *route, const redisReply *reply,
                                  struct err *err)
{
    const struct node asked = *route_node(route);
    struct node master = { .port = 0 }, node;

    if (!is_array(reply, 0))
        return astray(err, "it did not say who has which slot");
    route->count = route->at = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *range = reply->element[i];
        bool ours = is_array(range, 3) && has_slot(range, route->slot);
        if (ours)
            read_node(&asked, range->element[2], &master);
        for (size_t j = 2; is_array(range, 3) && j < range->elements; j++)
            if ((ours || j == 2) && read_node(&asked, range->element[j], &node))
                learn(route, &node);
    }
    for (size_t i = 0; i < route->address.node_count; i++)
        learn(route, &route->address.nodes[i]);
    if (!master.port)
        return astray(err, "no node has the slot just now");
    if (!node_is(&master, &asked))
        return go_to(route, &master, err);
    route->target = asked;
    route->named = true;
    return arrived(route);
}

/* A service may not let a connection have a name. */
static bool is_nameless(const struct route *route, const redisReply *reply,
                        bool asks)
{
    struct view text = { reply->str, reply->len };
    bool of_name = route->owed == (asks ? 2U : 1U);

    return of_name && reply->type == REDIS_REPLY_ERROR &&
           (view_starts(text, "NOPERM ") || view_starts(text, "ERR unknown "));
}

enum route_step route_hear(struct route *route, const redisReply *reply,
                           struct err *err)
{
    /* The last reply of the greeting is the answer to ask_the_way(). */
    bool asks = route->address.kind != ADDRESS_SERVER;
    bool answer = asks && route->owed == 1;
    bool role =
        answer && route->address.kind == ADDRESS_SENTINEL && route->named;

    if (!role && !is_nameless(route, reply, asks) && !reply_ok(reply, err))
        return ROUTE_ASTRAY;
    route->answered = true;
    if (--route->owed > 0)
        return ROUTE_LISTEN;
    if (!asks)
        return arrived(route);
    if (role)
        return hear_role(route, reply, err);
    return route->address.kind == ADDRESS_SENTINEL
               ? hear_sentinel(route, reply, err)
               : hear_slots(route, reply, err);
}

/* --------------------------------------------------------------- failures */

bool route_stray(struct route *route)
{
    const struct node *failed = route_node(route);

    /* A sentinel that names a dead master may be behind the others. */
    if (route->address.kind == ADDRESS_SENTINEL ||
        node_is(failed, &route->nodes[route->at]))
        route->at = (route->at + 1) % route->count;
    route->named = false;
    route->hops = 0;
    if (++route->tried < route->count)
        return true;
    route->tried = 0;
    return false;
}

void route_leave(struct route *route)
{
    if (route->address.kind == ADDRESS_SENTINEL)
        route->named = false;
    route->tried = 0;
    route->hops = 0;
}

/* "MOVED 3999 127.0.0.1:6381"; no host: the same one. */
void route_follow(struct route *route, const redisReply *moved, struct err *err)
{
    struct view text = { moved->str, moved->len };
    const char *space = memrchr(text.data, ' ', text.len);
    const char *colon = memrchr(text.data, ':', text.len);
    const struct node *node = route_node(route);

    err_set(err, ERR_RETRY, "redis_unavailable", "%.*s", VIEW_ARG(text));
    if (route->address.kind != ADDRESS_CLUSTER) {
        err_set(err, ERR_REJECT, "redis_refused",
                "it is one node of a cluster: the URL of a cluster begins with "
                "redis+cluster://");
    } else if (space && colon > space) {
        struct view host = { space + 1, (size_t)(colon - space - 1) };
        uint64_t port = strtoull(colon + 1, NULL, 10);
        struct node target;
        route->named =
            node_set(&target, host.len > 0 ? host : view_of(node->host), port);
        if (route->named)
            route->target = target;
    }
}

bool route_is_at(const struct route *route, const struct node *node)
{
    return route->named && node_is(&route->target, node);
}

void route_print(const struct route *route, char *text, size_t size)
{
    char node[NODE_MAX_HOST + 16];

    address_print(&route->address, text, size);
    if (route->address.kind == ADDRESS_SERVER)
        return;
    node_print(route_node(route), node, sizeof(node));
    size_t len = strlen(text);
    snprintf(text + len, size - len, ": %s", node);
}
