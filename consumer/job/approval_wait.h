/* approval_wait.h - asks a person before a call is made.
 *
 *   WORKING --a call of the reply is to be approved--> PARKING --> ENDED
 *
 * The job waits in Redis, without a slot, for at most the time that the
 * settings or the job allow. quern_v1_approve writes the verdict into the
 * journal and puts the job back into its queue. The consumer that takes it
 * decides anew, from the journal with the verdict.
 *
 * Which calls are asked about: conversation/approval.h. */
#ifndef CONSUMER_JOB_APPROVAL_WAIT_H
#define CONSUMER_JOB_APPROVAL_WAIT_H

#include "consumer/job/attempt.h"
#include "schemas/redis/transition.h"

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
