/* approval_wait.h - a person is asked before a call is made.
 *
 *   WORKING --a call of the reply is to be approved--> PARKING --> ENDED
 *   approve of the library: the verdict is a record of the journal, the job is
 *   in its queue again; whoever takes it decides anew.
 *
 * Which calls are asked about: conversation/approval_rule.h. */
#ifndef CONSUMER_JOB_QUESTION_H
#define CONSUMER_JOB_QUESTION_H

#include "consumer/job/attempt.h"
#include "schemas/redis/transition.h"

/* All tools that the job wants approved are there. Errors: unknown_tool;
 * tool_unavailable, a server that may have it has not answered yet. */
bool approval_wait_check(const struct attempt *attempt, struct err *err);

/* A person is to be asked before anything else is done: PARKING waits. */
bool approval_wait_is_due(struct attempt *attempt);
struct wait approval_wait_of(const struct attempt *attempt);

#endif
