/* text_calls.h - calls of tools that a model has written into its text.
 *
 * Servers without a parser for their model's tool calls leave them in the
 * content: <tool_call>{"name": ..., "arguments": ...}</tool_call>, or the JSON
 * alone. They are taken for calls when each of them names a tool that the job
 * may call, with arguments that it takes; else the text stays what it is. */
#ifndef CONSUMER_TEXT_CALLS_H
#define CONSUMER_TEXT_CALLS_H

#include "consumer/conversation/terms.h"

/* The message of a whole reply, with such calls in "tool_calls" and out of its
 * content: a new reference. */
json_t *text_calls_read(json_t *message, const struct terms *terms,
                        const struct job *job);

#endif
