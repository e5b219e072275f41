/* model_request.h - a request to a model as its endpoint takes it: body, URL
 * and headers. Also learns from refusals what the endpoint does not take. */
#ifndef CONSUMER_MODEL_REQUEST_H
#define CONSUMER_MODEL_REQUEST_H

#include <jansson.h>

#include "consumer/model/endpoint.h"
#include "consumer/model/reply_error.h"
#include "schemas/message/buf.h"

struct model_request {
    json_t *messages;    /* of chat-completions, whatever the dialect; must not
                          * be changed while the call lives */
    json_t *tools;       /* array of {type, function}; NULL or empty: none */
    json_t *parameters;  /* of the job, see sampling.h; NULL: none */
    uint64_t max_tokens; /* of the reply; 0: the endpoint's own bound */
    bool last;           /* no tool may be called any more; they are shown all
                            the same, since the history has calls */
    bool pictures;       /* messages hold some, so they are not kept while the
                            model is waited for: see model_failure.anew */
};

/* Replaces body by that of the request, and hash by its SHA-256. Error:
 * too_large. */
bool model_body_make(struct buf *body, char hash[65],
                     const struct model_endpoint *endpoint,
                     const struct model_request *request, struct err *err);

/* How many tokens the body allows the reply; 0: it does not say. */
uint64_t model_body_max_tokens(const struct model_endpoint *endpoint,
                               const struct model_request *request);

/* Learns from a refusal which parameter the endpoint does not take. True: that
 * was not known, so the same request without it may succeed. */
bool model_body_learn(struct model_endpoint *endpoint,
                      const struct reply_error *error);

/* Whether a refusal, with that HTTP status, of a request with pictures is
 * because of these. Learns QUIRK_BLIND when it says that the endpoint takes
 * none. */
bool model_body_learn_blind(struct model_endpoint *endpoint,
                            const struct reply_error *error, unsigned status);

/* Where a request to an endpoint goes, and its headers. */
struct model_head {
    char *url; /* owned */
    char *key; /* the line with the key, owned; NULL: there is none */
    const char *lines[5 + MAX_TOOL_HEADERS]; /* borrowed; NULL ends */
};

/* path: comes behind the endpoint's URL, before its query. Borrows from the
 * endpoint and its dialect. */
void model_head_make(struct model_head *head,
                     const struct model_endpoint *endpoint, const char *path);
void model_head_finish(struct model_head *head);

#endif
