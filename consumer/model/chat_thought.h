/* chat_thought.h - reasoning that stands in the text: <think> ... </think>.
 *
 * Some models, or endpoints that do not take it out, write it there. It is
 * told as reasoning and is no part of the answer; the endpoint that said it
 * gets it back as it was, as some models need it in a chain of tool calls, and
 * the templates of the others leave it out. Only what begins the text counts:
 * behind that it may be spoken of. */
#ifndef CONSUMER_CHAT_THOUGHT_H
#define CONSUMER_CHAT_THOUGHT_H

#include "consumer/model/reply_draft.h"

/* The next piece of the content. */
void thought_feed(struct reply *reply, struct view text);

/* The content has ended: what was held back, and a mark that only closes. */
void thought_end(struct reply *reply);

#endif
