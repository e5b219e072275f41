/* route.h - finds the server that has the keys, from an address.
 *
 *   one server   it is the one
 *   Sentinel     asks sentinels, one after the other, until one names the
 *                master; the master must say itself that it is one (ROLE)
 *   Cluster      asks nodes, one after the other, until one names the master of
 *                the slot; that must say so itself (CLUSTER SLOTS)
 *
 * Nothing here connects or waits: conn and link do. They connect to
 * route_node(), send what route_greet() writes, and give each of its replies to
 * route_hear(), which says what to do next. */
#ifndef SCHEMAS_REDIS_ROUTE_H
#define SCHEMAS_REDIS_ROUTE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "schemas/redis/address.h"

struct route {
    struct address address;
    unsigned int slot;
    struct node *nodes; /* servers to ask: those of the address, and in a
                           cluster those that nodes have named */
    size_t count, at;   /* how many; which one is asked next */
    size_t tried;       /* how many have failed in this round */
    unsigned int hops;  /* from one named server to the next, since the last
                           failure */
    bool answered;      /* some server has answered once */
    bool named; /* connect to target, which was named; else ask nodes[at] */
    struct node target;
    size_t owed; /* replies to the greeting that are still to come */
};

/* Copies the address. slot: of the keys that will be asked for. */
void route_init(struct route *route, const struct address *address,
                unsigned int slot);
void route_finish(struct route *route);

/* The server to connect to next; when the address has a path, that is connected
 * to instead. */
const struct node *route_node(const struct route *route);
/* How long one server may take for each step: less when there are others. */
uint64_t route_step_ms(const struct route *route);

/* Writes AUTH, SELECT, CLIENT SETNAME quern-<role> and the question for the way
 * into the wire's output. */
void route_greet(struct route *route, redisContext *wire, const char *role);

enum route_step {
    ROUTE_LISTEN,  /* a further reply of the greeting is to come */
    ROUTE_ARRIVED, /* this is the server */
    ROUTE_ON,      /* it named another one: connect to that at once */
    ROUTE_ASTRAY,  /* err says why: then route_stray() */
};
enum route_step route_hear(struct route *route, const redisReply *reply,
                           struct err *err);

/* The server could not be reached, or did not lead to the right one. True:
 * there is another one to try at once. False: all have been tried in this
 * round; wait before the next. */
bool route_stray(struct route *route);
/* The connection to the right server is lost: sentinels are asked again,
 * because there may be a new master. */
void route_leave(struct route *route);
/* The server answered MOVED: goes to the node that it names. Fills err, with
 * redis_refused when the address is not that of a cluster. */
void route_follow(struct route *route, const redisReply *moved,
                  struct err *err);

bool route_is_at(const struct route *route, const struct node *node);

/* For people and logs: the address, and which of its servers it is about. */
void route_print(const struct route *route, char *text, size_t size);

#endif
