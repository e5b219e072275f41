/* submits.h - jobs that come at the same time are submitted by one call.
 *
 * A call that submits one job takes Redis more than twice as long as its share
 * of a call for many. So while a call of a partition is on its way, further
 * jobs wait for its answer, and then go together; when none is, a job goes at
 * once.
 *
 * Before, the limits of the request's key are checked (key_use.h). */
#ifndef PRODUCER_GATEWAY_SUBMITS_H
#define PRODUCER_GATEWAY_SUBMITS_H

#include "producer/client/draft.h"
#include "producer/gateway/api_request.h"

struct submits *submits_new(struct gateway *gateway);
/* Nothing may be on its way any more. Accepts NULL. */
void submits_free(struct submits *submits);

/* reply: for draft_submitted(); NULL: err says why there is none. Its code is
 * unknown_outcome when the job may stand all the same. */
typedef void submits_done(struct api_request *request, const redisReply *reply,
                          const struct err *err);

/* Submits the draft, which must stay until done. When the peer has gone before
 * it is sent, nothing is sent; when it goes later, done is not called. */
void submits_add(struct api_request *request, const struct draft *draft,
                 submits_done *done);

/* Asks for the id of the job that a tenant has submitted with this key. */
void submits_ask_standing(struct command *command,
                          const struct gateway *gateway, unsigned int partition,
                          struct view tenant, struct view idempotency_key);

#endif
