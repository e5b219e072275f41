/* message_items.h - messages of a conversation as items of the Responses API.
 *
 * A message may be several items: what it says, and each of its calls. The
 * output of Python's call is no item of its own. */
#ifndef PRODUCER_GATEWAY_MESSAGE_ITEMS_H
#define PRODUCER_GATEWAY_MESSAGE_ITEMS_H

#include "producer/gateway/responses/wire_item.h"

/* Messages of a job, as its body or its result has them, as items in their
 * order: a new reference. Instructions (system) are none when the job has them
 * in "system". Ids follow from the job and the places: "msg_", the job's 32
 * digits, "i" and the place in at least four hexadecimal digits. */
json_t *response_input_items(const struct wire_job *job,
                             const json_t *messages);

/* The messages of a conversation for whoever goes on with it: instructions (a
 * system message at the head) are of one response, and left out. A new
 * reference. messages: NULL: there are none. */
json_t *response_without_instructions(const json_t *messages);

/* The messages without the item that is the place-th of response_input_items(),
 * from 0; there must be one. A call and its output go together: one without the
 * other is no conversation that a model takes. A new reference. */
json_t *response_without_item(const struct wire_job *job,
                              const json_t *messages, size_t place);

#endif
