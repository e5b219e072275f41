/* wait.h - what a job waits for, how long, and where: for what cannot be done
 * just now, and for a person.
 *
 * Short waits (up to --hold) hold the job in its slot. Long ones put it back
 * into its queue, where it holds nothing. What failed is tried again after a
 * wait that grows, at most as often as the job or the settings say. What is
 * merely not allowed yet (an endpoint that wants to be left alone, a tenant's
 * budget) is no failure of the job, and only its deadline ends that wait.
 *
 * These functions decide and log; attempt->retries says for how long and why.
 * The caller carries it out (activity_delay() does), and tells followers with
 * wait_tell(). */
#ifndef CONSUMER_JOB_WAIT_H
#define CONSUMER_JOB_WAIT_H

#include "consumer/job/attempt.h"
#include "schemas/redis/transition.h"

/* Where the job waits for attempt->retries.wait_ms. */
enum delay {
    DELAY_HERE,
    DELAY_IN_QUEUE,
    DELAY_ELSEWHERE, /* this host has no executor: the attempt already stops,
                        and the job goes back for other consumers */
    DELAY_NONE,      /* not at all: the job ends with that error */
};

/* After a failure, which counts as a try. least_ms: the wait that the one that
 * failed asks for (Retry-After), 0: none; a longer one of ours comes first. */
enum delay wait_retry(struct attempt *attempt, const struct err *why,
                      uint64_t least_ms);
/* For exactly wait_ms; it is no try. reason: as in struct job_retries,
 * a literal. */
enum delay wait_rest(struct attempt *attempt, const struct err *why,
                     uint64_t wait_ms, struct view reason);
/* The same, never in the queue: for what only this attempt can wait for. */
enum delay wait_hold(struct attempt *attempt, const struct err *why,
                     uint64_t wait_ms);
/* wait_retry() would answer DELAY_NONE: another try is not worth it, there were
 * enough, or the deadline comes first. */
bool wait_is_spent(const struct attempt *attempt, const struct err *why);

/* Writes the event job.retrying, with the error and the wait. */
void wait_tell(struct attempt *attempt, const struct err *why);

/* Before a call is made, a person may be asked:
 *
 *   WORKING --a call of the reply is to be approved--> PARKING --> ENDED
 *
 * The job waits in Redis, without a slot, for at most the time that the
 * settings or the job allow. quern_v1_approve writes the verdict into the
 * journal and puts the job back into its queue. The consumer that takes it
 * decides anew, from the journal with the verdict.
 *
 * Which calls are asked about: conversation/approval.h. */

/* Whether all tools that the job wants approved are there: a name that fits
 * none would let a call pass unapproved. Errors: unknown_tool; tool_unavailable
 * (retry): a server that may have the tool has not answered yet. */
bool approval_wait_check(const struct attempt *attempt, struct err *err);

/* Whether a person is to be asked before anything else is done. If so, writes
 * the question into attempt->approval, and the attempt is to go to PARKING. */
bool approval_wait_is_due(struct attempt *attempt);
/* What PARKING asks of Redis; borrows of the attempt. */
struct wait approval_wait_of(const struct attempt *attempt);

#endif
