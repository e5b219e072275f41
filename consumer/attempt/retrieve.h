/* retrieve.h - a reply that its endpoint keeps is fetched before another one is
 * paid for.
 *
 *   ANSWERING --its id is heard--> model_sent, behind the intent in the journal
 *       |                              | nothing waits for that
 *       | it breaks off                | a journal ends so: DECIDING
 *       '--------> RETRIEVING <--------'
 *
 *   RETRIEVING --it is there---------------------> ANSWERED
 *      ^  | '--there is none, or takes too long--> as if it had not been kept:
 *      |  |                                        ASKING, or a failure
 *      '--'--it is being made, or cannot be had now: PAUSING
 *
 * The endpoint that was asked is in the place of the attempt's own meanwhile,
 * and stays there when it has answered. */
#ifndef CONSUMER_RETRIEVE_H
#define CONSUMER_RETRIEVE_H

#include "consumer/attempt/attempt.h"

attempt_step step_retrieving;

/* The id of the reply that is coming. */
void retrieve_keep(struct attempt *attempt, struct view id);
/* By the journal there is one that nobody has seen, and it can be had. */
bool retrieve_finds(struct attempt *attempt);

/* It has come, or there is none, or another one is asked for. */
void retrieve_forget(struct attempt *attempt);
/* It is not asked for any more, here. */
void retrieve_stop(struct attempt *attempt);
/* Nobody wants it: it need not be made. */
void retrieve_cancel(struct attempt *attempt);

#endif
