/* fleet.h - what all consumers of a fleet have to agree on: the number of
 * partitions (schemas/redis/partitions.h).
 *
 * The consumer sets the number if there is none, and does so again once a
 * lease, in case somebody has emptied Redis. */
#ifndef CONSUMER_FLEET_H
#define CONSUMER_FLEET_H

#include "consumer/consumer.h"

struct fleet;
struct fleet_endpoints;

struct fleet_events {
    /* The number of partitions is known; comes once. */
    void (*on_known)(void *owner, size_t partitions);
    /* QUERN_PARTITIONS is another number, or Redis refuses the login. Comes
     * once at most, and not after on_known: then it is only logged. */
    void (*on_refused)(void *owner, const struct err *why);
};

/* Borrows the consumer. Nothing happens before fleet_open(). */
struct fleet *fleet_new(struct consumer *consumer,
                        const struct address *address,
                        struct fleet_events events, void *owner);
void fleet_open(struct fleet *fleet);
size_t fleet_partitions(const struct fleet *fleet); /* 0: not known yet */
/* What the fleet shares about model endpoints; owned by the fleet. */
struct fleet_endpoints *fleet_endpoints(const struct fleet *fleet);
void fleet_switch(struct fleet *fleet, const struct node *master);
void fleet_free(struct fleet *fleet);

#endif
