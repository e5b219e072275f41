/* wait.h - what cannot be done just now: how long it is waited for, and where.
 *
 * Short waits hold the job here, long ones put it back into its queue, where it
 * holds nothing. What fails is tried again after a wait that grows, so often as
 * the job or the settings say; what is merely not allowed yet (an endpoint that
 * rests, a budget) is no failure of the job, and only its deadline ends that.
 *
 * These functions decide, and log; attempt->retries has for how long and why.
 * The caller does it, and tells of it. */
#ifndef CONSUMER_JOB_WAIT_H
#define CONSUMER_JOB_WAIT_H

#include "consumer/job/attempt.h"

enum delay {
    DELAY_HERE,
    DELAY_IN_QUEUE,
    DELAY_ELSEWHERE, /* the job is handed back: others may be better off */
    DELAY_NONE,      /* the job ends with that error */
};

/* After a failure; least_ms: what who failed has asked for. Counts a try. */
enum delay wait_retry(struct attempt *attempt, const struct err *why,
                      uint64_t least_ms);
/* Exactly so long, and no try. reason: as in struct job_retries. */
enum delay wait_rest(struct attempt *attempt, const struct err *why,
                     uint64_t wait_ms, struct view reason);
/* The same, never in the queue. */
enum delay wait_hold(struct attempt *attempt, const struct err *why,
                     uint64_t wait_ms);
/* wait_retry() would say DELAY_NONE: it was tried often enough, or time is up.
 */
bool wait_is_spent(const struct attempt *attempt, const struct err *why);

/* The event job.retrying. */
void wait_tell(struct attempt *attempt, const struct err *why);

#endif
