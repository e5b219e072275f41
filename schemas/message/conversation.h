/* conversation.h - the whole conversation of a job, as a blob that the job's
 * result names. A job whose member earlier names the blob goes on from there:
 * any number of jobs may, so conversations form a tree. */
#ifndef SCHEMAS_MESSAGE_CONVERSATION_H
#define SCHEMAS_MESSAGE_CONVERSATION_H

#include "schemas/message/field.h"

struct kept_conversation {
    const msgpack_object *messages; /* an array, in OpenAI's chat form */
};
extern const struct schema schema_conversation;

/* message_decode(), and whether these are messages (job.h). Calls of the last
 * one may be open. */
bool conversation_decode(struct kept_conversation *kept, struct view bytes,
                         struct arena *arena, struct err *err);

#endif
