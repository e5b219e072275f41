/* fleet.h - what all consumers of a fleet have to agree on.
 *
 * Into how many partitions its queues are divided is said once, by whoever
 * comes first, for good: jobs, sessions and limits of a tenant are where that
 * number puts them. It is said again while we serve, in case that somebody has
 * emptied Redis. */
#ifndef CONSUMER_FLEET_H
#define CONSUMER_FLEET_H

#include "consumer/consumer.h"

struct fleet;
struct fleet_endpoints;

struct fleet_events {
    void (*on_known)(void *owner, size_t partitions); /* once */
    /* They are not as many as ours are set to be, or Redis does not want us. */
    void (*on_refused)(void *owner, const struct err *why);
};

struct fleet *fleet_new(struct consumer *consumer,
                        const struct address *address,
                        struct fleet_events events, void *owner);
void fleet_open(struct fleet *fleet);
size_t fleet_partitions(const struct fleet *fleet); /* 0: not known yet */
/* What it shares about them: see fleet_endpoints.h. */
struct fleet_endpoints *fleet_endpoints(const struct fleet *fleet);
void fleet_switch(struct fleet *fleet, const struct node *master);
void fleet_free(struct fleet *fleet);

#endif
