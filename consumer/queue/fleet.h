/* fleet.h - what all consumers of a fleet have to agree on: the number of
 * partitions (schemas/redis/partitions.h).
 *
 * The consumer sets the number if there is none, and does so again with each
 * lease, in case that somebody has emptied Redis. */
#ifndef CONSUMER_FLEET_H
#define CONSUMER_FLEET_H

#include "consumer/consumer.h"

struct fleet;
struct fleet_endpoints;

struct fleet_events {
    void (*on_known)(void *owner, size_t partitions); /* once */
    /* QUERN_PARTITIONS is another number, or Redis refuses the login. */
    void (*on_refused)(void *owner, const struct err *why);
};

struct fleet *fleet_new(struct consumer *consumer,
                        const struct address *address,
                        struct fleet_events events, void *owner);
void fleet_open(struct fleet *fleet);
size_t fleet_partitions(const struct fleet *fleet); /* 0: not known yet */
/* What it shares about model endpoints. */
struct fleet_endpoints *fleet_endpoints(const struct fleet *fleet);
void fleet_switch(struct fleet *fleet, const struct node *master);
void fleet_free(struct fleet *fleet);

#endif
