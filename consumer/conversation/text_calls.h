/* text_calls.h - tool calls that a model has written into its text.
 *
 * Servers without a parser for their model's tool calls leave these in the
 * content: <tool_call>{"name": ..., "arguments": ...}</tool_call>, or the JSON
 * alone. They are taken for calls if each of them names a tool that the job may
 * call, with arguments that the tool takes. Else the text stays a text. */
#ifndef CONSUMER_TEXT_CALLS_H
#define CONSUMER_TEXT_CALLS_H

#include "consumer/conversation/terms.h"

/* The message of a whole reply, with such calls moved from its content to
 * "tool_calls": a new reference, to message itself if there are none. */
json_t *text_calls_read(json_t *message, const struct terms *terms,
                        const struct job *job);

#endif
