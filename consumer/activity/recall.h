/* recall.h - what was said in the session before: brought when a job begins,
 * added to when it ends.
 *
 *   CLAIMING --it is the job's turn--> READING --> over
 *     ^ |
 *     | v
 *   RESTING
 *
 * Both in the session's turn, so that nobody else adds meanwhile; what is added
 * becomes the session's with the record that says what else the job left. */
#ifndef CONSUMER_ACTIVITY_RECALL_H
#define CONSUMER_ACTIVITY_RECALL_H

#include "consumer/activity/activity.h"

/* The job goes on with what was said, and it has not been brought yet. */
bool recall_is_due(const struct attempt *attempt);
/* What is to be the session's when the job has ended, for the record; no blob:
 * as it is. */
struct saved_history recall_add(struct attempt *attempt);

#endif
