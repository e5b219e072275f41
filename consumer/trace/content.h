/* content.h - what models are asked and say, as attributes of a span: the
 * members gen_ai.input.messages and gen_ai.output.messages, as JSON in a text.
 *
 * Bounded, and JSON all the same: long texts are cut, and of many messages only
 * the newest are told. */
#ifndef CONSUMER_TRACE_CONTENT_H
#define CONSUMER_TRACE_CONTENT_H

#include <jansson.h>

#include "schemas/message/buf.h"

/* Initialize out; at most SPAN_CONTENT_BYTES. messages: of chat-completions;
 * message: of the assistant. Of a message that is none, as much as there is. */
void content_write_messages(struct buf *out, const json_t *messages);
void content_write_reply(struct buf *out, const json_t *message,
                         struct view finish_reason);

#endif
