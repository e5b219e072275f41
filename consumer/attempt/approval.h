/* approval.h - an attempt's side towards people: a call waits for one.
 *
 *   DECIDING --a call of the reply is to be approved--> PARKING --> ENDED
 *   approve of the library: the verdict is a record of the journal, the job is
 *   in its queue again; whoever takes it decides anew.
 *
 * Which calls are asked about: conversation/question.h. */
#ifndef CONSUMER_ATTEMPT_APPROVAL_H
#define CONSUMER_ATTEMPT_APPROVAL_H

#include "consumer/attempt/attempt.h"
#include "schemas/redis/transition.h"

/* All that the job names is there. Errors: unknown_tool; tool_unavailable, a
 * server that may have it has not answered yet. */
bool approval_check(const struct attempt *attempt, struct err *err);

/* A person is to be asked before anything else is done: PARKING waits. */
bool approval_asks(struct attempt *attempt);
struct wait approval_wait(const struct attempt *attempt);

#endif
