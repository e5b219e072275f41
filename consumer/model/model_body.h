/* model_body.h - the body of a request, as that endpoint takes it. */
#ifndef CONSUMER_MODEL_BODY_H
#define CONSUMER_MODEL_BODY_H

#include "consumer/model/endpoint.h"
#include "consumer/model/model.h"
#include "consumer/model/reply_error.h"
#include "schemas/message/buf.h"

/* Fills body and the SHA-256 of it. False: too_large. */
bool model_body_make(struct buf *body, char hash[65],
                     const struct model_endpoint *endpoint,
                     const struct model_request *request, struct err *err);

/* How many tokens that body allows the reply; 0: it does not say. */
uint64_t model_body_max_tokens(const struct model_endpoint *endpoint,
                               const struct model_request *request);

/* A refusal that says which parameter the endpoint does not take: true when
 * that was news, and the same request is worth another try without it. */
bool model_body_learn(struct model_endpoint *endpoint,
                      const struct reply_error *error);

/* A refusal, with that status of HTTP, of a request that holds pictures: true
 * when these are why. What says that the endpoint takes none at all is kept
 * with it. */
bool model_body_learn_blind(struct model_endpoint *endpoint,
                            const struct reply_error *error, unsigned status);

#endif
