/* deliverer.h - takes deliveries that are due, and makes their requests.
 *
 *   Redis --deliver_take--> delivery --HTTP--> webhook
 *     ^                        |
 *     '-----deliver_done-------'
 *
 * Any number of deliverers may run: each delivery is leased to one of them. One
 * that is killed, or cannot reach Redis for longer than a lease, has its
 * deliveries made again by another, so each is made once at least. */
#ifndef PRODUCER_DELIVER_DELIVERER_H
#define PRODUCER_DELIVER_DELIVERER_H

#include "producer/deliver/settings.h"
#include "producer/gateway/fleet_links.h"

struct deliverer;

/* Borrows all of place and settings. NULL: curl cannot start. */
struct deliverer *deliverer_new(const struct fleet_place *place,
                                const struct deliver_settings *settings);
/* Asks for deliveries through links, which must not be freed before
 * deliverer_drain() has called done. */
void deliverer_start(struct deliverer *deliverer, struct fleet_links *links);
/* Takes no more. Calls done once, from the loop: when all deliveries are
 * settled, or grace_ms have passed. */
void deliverer_drain(struct deliverer *deliverer, uint64_t grace_ms,
                     void (*done)(void *owner), void *owner);
size_t deliverer_requests(const struct deliverer *deliverer);
/* After done; what is still on the loop closes by itself. */
void deliverer_close(struct deliverer *deliverer);
/* After the loop has ended. Accepts NULL. */
void deliverer_free(struct deliverer *deliverer);

#endif
