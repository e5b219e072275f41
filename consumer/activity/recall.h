/* recall.h - reads what was said in the session before when a job begins, and
 * adds the job's own exchange when it ends.
 *
 *   CLAIMING --it is the job's turn--> READING --> over
 *     ^ |
 *     | v
 *   RESTING
 *
 * The job has its turn in the session for all of that time, so no other job
 * adds anything meanwhile. The new history is a blob; it becomes the session's
 * with the record that names it, which says what else the job left. */
#ifndef CONSUMER_ACTIVITY_RECALL_H
#define CONSUMER_ACTIVITY_RECALL_H

#include "consumer/activity/activity.h"

/* The job goes on with what was said before, and the attempt has not read it
 * yet. */
bool recall_is_due(const struct attempt *attempt);
/* In SAVING: writes the history with the job's exchange as a blob, and returns
 * what the session's record is to say of it. Without a blob: the record's
 * history stays as it is. Borrows of the attempt. */
struct saved_history recall_add(struct attempt *attempt);

#endif
