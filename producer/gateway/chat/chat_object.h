/* chat_object.h - what a job has answered as a chat completion.
 *
 *   response object, from responses/ --> {"object": "chat.completion", ...}
 *
 * Texts stand one behind the other, a blank line between them, and so do links
 * to what code has made (chat_links.h). Code that ran, searches and reasoning
 * are not shown. */
#ifndef PRODUCER_GATEWAY_CHAT_OBJECT_H
#define PRODUCER_GATEWAY_CHAT_OBJECT_H

#include <jansson.h>

#include "producer/gateway/responses/wire_item.h"

enum { CHAT_ID_BYTES = 48 };

/* Why there is no answer. Borrows from the response. */
struct chat_failure {
    unsigned int status; /* of HTTP */
    const char *type, *code, *message;
};

/* "chatcmpl-" and the 32 digits of the job's id. */
void chat_id_write(char id[CHAT_ID_BYTES], struct view job);
/* False: the job has an answer. */
bool chat_failed(const json_t *response, struct chat_failure *failure);
/* A new reference. Of a response that has not failed. result: NULL: it is not
 * known. */
json_t *chat_object(const struct wire_job *job, const json_t *response,
                    const struct result *result);

/* "stop", "tool_calls", "length" or "content_filter". */
const char *chat_finish_reason(const json_t *response);
/* A new reference. */
json_t *chat_usage(const json_t *response);
/* A function_call as one of tool_calls; a new reference. */
json_t *chat_call(const json_t *item);

#endif
