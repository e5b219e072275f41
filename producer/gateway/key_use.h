/* key_use.h - what a key with limits has in use: jobs that have not ended, and
 * what its jobs cost today.
 *
 *   submit --> add the job to the key's --> look at those that were looked at
 *                                           the longest ago: some have ended
 *                                             |
 *              allowed, or refused  <--  how many are left, what did they cost
 *
 * All is in Redis, for all gateways together (schemas/KEYS.md, key_jobs and
 * key_cost). For keys without such limits none of it is done. README.md says
 * how exact it is ("Limits of keys"). */
#ifndef PRODUCER_GATEWAY_KEY_USE_H
#define PRODUCER_GATEWAY_KEY_USE_H

#include "producer/gateway/api_request.h"

/* refused: NULL: the job may be submitted. Codes: too_many_jobs,
 * insufficient_quota; redis_unavailable and others when Redis did not answer.
 */
typedef void key_use_done(void *owner, const struct err *refused);

/* Adds a job to those of the request's key, before it is submitted or run
 * again, and calls done once, perhaps within the call. */
void key_use_add(struct api_request *request, struct view job,
                 key_use_done *done, void *owner);
/* The job was not submitted after all. One that was among those of the key
 * before key_use_add() stays there. */
void key_use_drop(struct api_request *request, struct view job);
/* Counts the cost of a job before all that is kept of it is removed, and then
 * calls done, unless the peer has gone. */
void key_use_count(struct api_request *request, struct view job,
                   void (*done)(struct api_request *request));

#endif
