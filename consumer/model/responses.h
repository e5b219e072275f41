/* responses.h - the dialect of OpenAI Responses: its other half. */
#ifndef CONSUMER_RESPONSES_H
#define CONSUMER_RESPONSES_H

#include "consumer/model/dialect.h"

/* responses_reply.c: an event of a reply, and its end. */
bool responses_take(struct reply *reply, struct view event, const json_t *json);
void responses_end(struct reply *reply);

#endif
