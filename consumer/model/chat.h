/* chat.h - the chat-completions dialect: its two halves. */
#ifndef CONSUMER_CHAT_H
#define CONSUMER_CHAT_H

#include "consumer/model/dialect.h"

/* chat_reply.c: an event of a reply, and its end. */
bool chat_take(struct reply *reply, struct view event, const json_t *json);
void chat_end(struct reply *reply);

#endif
