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

/* reply: for draft_submitted(); NULL: err says why there is none. */
typedef void submits_done(struct api_request *request, const redisReply *reply,
                          const struct err *err);

/* Submits the draft, which must stay until done. When the job could not be
 * sent, the request is answered; when its peer has gone before, nothing is
 * sent. */
void submits_add(struct api_request *request, const struct draft *draft,
                 submits_done *done);

#endif
