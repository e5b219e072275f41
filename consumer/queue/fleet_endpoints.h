/* fleet_endpoints.h - what the consumers of a fleet share about model
 * endpoints: how long to leave one alone, and counts for operators.
 *
 *   an endpoint asks one consumer to wait         --> waits  (sorted set)
 *   all consumers, before they ask an endpoint    <-- waits
 *   requests, and what came of them               --> counts (hash)
 *
 * schemas/redis/endpoint.h has the keys. Endpoints that have the same name in
 * two consumers, but differ in URL, model or dialect, have ids of their own.
 *
 * A consumer reads the waits before its first job, then with each lease, and
 * when it is about to make a request, at most ten times a second. It does so
 * while the intent of the request is written, so both are there at about the
 * same time; the request goes out without an answer after a second. While Redis
 * is away each consumer goes by the waits that it knows, and writes its own
 * when Redis is back. It writes again what Redis has refused, with a later
 * reading, every five seconds at most.
 *
 * Counts are summed up here and written once a second at most. They are never
 * written twice: what is on its way when the connection breaks is lost, and so
 * is the last second of a consumer that is killed. */
#ifndef CONSUMER_FLEET_ENDPOINTS_H
#define CONSUMER_FLEET_ENDPOINTS_H

#include "consumer/consumer.h"
#include "schemas/redis/endpoint.h"
#include "schemas/redis/link.h"

struct fleet_endpoints;

/* Borrows both, which must outlive it. */
struct fleet_endpoints *fleet_endpoints_new(struct consumer *consumer,
                                            struct link *link);
/* To be called when the link is freed, whose answers come here. Accepts NULL.
 */
void fleet_endpoints_free(struct fleet_endpoints *shared);

/* The link is ready: reads all waits anew, and writes ours. */
void fleet_endpoints_ready(struct fleet_endpoints *shared);
/* Reads the waits now. For when the consumer has loaded other endpoints. */
void fleet_endpoints_read(struct fleet_endpoints *shared);
/* Reads them unless that was done less than 100 ms ago. For when an endpoint is
 * about to be asked. */
void fleet_endpoints_look(struct fleet_endpoints *shared);
/* They are being read: jobs->on_waits_read() comes within a second. */
bool fleet_endpoints_are_awaited(const struct fleet_endpoints *shared);
/* Writes how long the endpoint wants to be left alone (its breaker has that),
 * if the fleet does not know it yet and it is longer than a second. */
void fleet_endpoints_tell_wait(struct fleet_endpoints *shared,
                               struct model_endpoint *endpoint);

/* Counts one more, for the operators' totals of the endpoint. */
void fleet_endpoints_count(struct fleet_endpoints *shared,
                           const struct model_endpoint *endpoint,
                           enum endpoint_count what);
/* Notes what has come of a request: its failure, or, when why is NULL, a reply.
 */
void fleet_endpoints_count_end(struct fleet_endpoints *shared,
                               const struct model_endpoint *endpoint,
                               const struct err *why);

#endif
