/* model_request.h - a request, and how its endpoint takes it: the body in its
 * dialect, where it goes, and its headers. */
#ifndef CONSUMER_MODEL_REQUEST_H
#define CONSUMER_MODEL_REQUEST_H

#include <jansson.h>

#include "consumer/model/endpoint.h"
#include "consumer/model/reply_error.h"
#include "schemas/message/buf.h"

struct model_request {
    json_t *messages;    /* of chat-completions, whatever the dialect; must stay
                          * as it is while the call lives */
    json_t *tools;       /* array of {type, function}; NULL or empty: none */
    json_t *parameters;  /* of the job, see sampling.h; NULL: none */
    uint64_t max_tokens; /* of the reply; 0: the endpoint's own bound */
    bool last;           /* the tools are shown, and must not be called */
    bool pictures;       /* messages hold some: many bytes, which are not kept
                            while the model is waited for; see anew */
};

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

/* Where a request to an endpoint goes, and its headers. */
struct model_head {
    char *url;
    char *key; /* NULL: there is none */
    const char *lines[5 + MAX_TOOL_HEADERS];
};

/* path: behind the endpoint's URL, and before its query. Borrows of the
 * endpoint's dialect. */
void model_head_make(struct model_head *head,
                     const struct model_endpoint *endpoint, const char *path);
void model_head_finish(struct model_head *head);

#endif
