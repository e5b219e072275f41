/* anthropic.h - the dialect of Anthropic Messages: its two halves. */
#ifndef CONSUMER_ANTHROPIC_H
#define CONSUMER_ANTHROPIC_H

#include "consumer/model/dialect.h"

/* anthropic_reply.c: an event of a reply, and its end. */
bool anthropic_take(struct reply *reply, struct view event, const json_t *json);
void anthropic_end(struct reply *reply);

#endif
