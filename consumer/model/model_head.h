/* model_head.h - where a request to an endpoint goes, and its headers. */
#ifndef CONSUMER_MODEL_HEAD_H
#define CONSUMER_MODEL_HEAD_H

#include "consumer/model/endpoint.h"

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
