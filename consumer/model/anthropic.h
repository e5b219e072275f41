/* anthropic.h - the dialect of Anthropic Messages: its two halves. */
#ifndef CONSUMER_ANTHROPIC_H
#define CONSUMER_ANTHROPIC_H

#include "consumer/model/dialect.h"

bool anthropic_take(struct reply *reply, struct view event, const json_t *json);
void anthropic_end(struct reply *reply);

#endif
