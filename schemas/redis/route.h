/* route.h - the way from an address to the server that is meant.
 *
 *   one server   is it
 *   Sentinel     sentinels, in turn, until one names the master; which must
 *                say itself that it is one (ROLE)
 *   Cluster      nodes, in turn, until one names the master of the slot; which
 *                must say so itself (CLUSTER SLOTS)
 *
 * Nothing here connects or waits, link and conn do: they connect to
 * route_node(), send route_greet(), and give each of its replies to
 * route_hear(). */
#ifndef SCHEMAS_REDIS_ROUTE_H
#define SCHEMAS_REDIS_ROUTE_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "schemas/redis/address.h"

struct route {
    struct address address;
    unsigned int slot;
    struct node
        *nodes; /* to ask: the address' own, and what those have named */
    size_t count, at;
    size_t tried;      /* in this round, in vain */
    unsigned int hops; /* from one to the next, since the last failure */
    bool answered;     /* some server has been there, once */
    bool named;        /* target is what was named; else: ask */
    struct node target;
    size_t owed; /* replies to the greeting */
};

/* Copies the address. slot: of the keys that will be asked for. */
void route_init(struct route *route, const struct address *address,
                unsigned int slot);
void route_finish(struct route *route);

/* The server to connect to next; its address' path comes first, where there is
 * one. */
const struct node *route_node(const struct route *route);
/* How long one server may take for each step: less when there are others. */
uint64_t route_step_ms(const struct route *route);

/* Puts AUTH, SELECT, CLIENT SETNAME quern-<role> and what is to be asked into
 * the output. */
void route_greet(struct route *route, redisContext *wire, const char *role);

enum route_step {
    ROUTE_LISTEN,  /* to the next reply of the greeting */
    ROUTE_ARRIVED, /* this is the server */
    ROUTE_ON,      /* it named another: connect to that at once */
    ROUTE_ASTRAY,  /* err says why: then route_stray() */
};
enum route_step route_hear(struct route *route, const redisReply *reply,
                           struct err *err);

/* The server could not be reached, or led astray. True: there is another to try
 * at once. False: all have been tried, begin anew after a while. */
bool route_stray(struct route *route);
/* The connection that had arrived is lost. */
void route_leave(struct route *route);
/* It answered MOVED. Fills err; redis_refused where there is no cluster. */
void route_follow(struct route *route, const redisReply *moved,
                  struct err *err);

bool route_is_at(const struct route *route, const struct node *node);

/* For people and logs: the address, and which of its servers it is about. */
void route_print(const struct route *route, char *text, size_t size);

#endif
