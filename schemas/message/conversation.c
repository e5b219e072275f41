/* conversation.c - the table of a conversation that a blob holds. */
#include "schemas/message/conversation.h"

#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "schemas/message/table.h"

static const struct field conversation_fields[] = {
    ANY(kept_conversation, messages, FIELD_REQUIRED,
        "All messages, in OpenAI's chat format"),
};
const struct schema schema_conversation = {
    .name = "conversation",
    .about = "The conversation of a job, for jobs that go on from it.",
    .size = sizeof(struct kept_conversation),
    .fields = conversation_fields,
    .count = sizeof(conversation_fields) / sizeof(conversation_fields[0]),
    .versioned = true,
    .max_bytes = MAX_CONVERSATION_BYTES,
};

bool conversation_decode(struct kept_conversation *kept, struct view bytes,
                         struct arena *arena, struct err *err)
{
    return message_decode(&schema_conversation, bytes, kept, arena, err) &&
           messages_check(kept->messages, err);
}
