/* fleet_numbers.h - the numbers of the whole fleet, from Redis, as Prometheus
 * reads them: of `quern metrics` and of quern-gateway.
 *
 * Queues get their names from jobs, so their number has no bound, but that of
 * series has: at most FLEET_QUEUES queues have series of their own, the others
 * together are queue="other". First come the queues that operators have set up
 * ("default", those that a consumer serves, those with settings), then all
 * others, both by name. So no job can take the place of such a queue. */
#ifndef PRODUCER_NUMBERS_FLEET_NUMBERS_H
#define PRODUCER_NUMBERS_FLEET_NUMBERS_H

#include "producer/client/quern_operate.h"
#include "schemas/message/buf.h"

enum { FLEET_QUEUES = 64 };

/* Slots that would have work, for autoscalers: jobs that run, and jobs that
 * wait; of a paused queue none of these starts. */
uint64_t fleet_wanted(const struct quern_queue *queue);

/* Whether the queue is among those that it names. */
bool fleet_serves(const struct quern_worker *worker, const char *queue);

struct fleet_numbers {
    struct buf gauges; /* as text; empty: Redis could not be asked */
    uint64_t errors;   /* of all times: it could not be asked */
};

void fleet_numbers_init(struct fleet_numbers *numbers);
void fleet_numbers_finish(struct fleet_numbers *numbers);

/* Asks Redis anew; blocks. */
bool fleet_numbers_collect(struct fleet_numbers *numbers, struct quern *quern,
                           struct quern_error *error);

/* Appends them, in the format 0.0.4, and what it took to collect them. */
void fleet_numbers_write(const struct fleet_numbers *numbers, struct buf *out);

#endif
