/* records.h - journals for tests, written record by record. */
#ifndef TESTS_UNIT_CONSUMER_RECORDS_H
#define TESTS_UNIT_CONSUMER_RECORDS_H

#include <string.h>

#include "consumer/conversation/conversation.h"
#include "schemas/message/limits.h"

static inline void apply(struct conversation *conversation,
                         const struct record *record)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct err err = { 0 };
    buf_init(&bytes, MAX_RECORD_BYTES);
    if (!message_encode(&schema_record, record, &bytes, &err) ||
        !conversation_apply(conversation, buf_view(&bytes), &err))
        fail_msg("%s", err.text);
}

static inline void asks(struct conversation *conversation)
{
    apply(conversation, &(struct record){ .kind = RECORD_MODEL_INTENT,
                                          .turn = conversation->turn + 1 });
}

/* message: JSON. */
static inline void answers(struct conversation *conversation,
                           const char *message)
{
    apply(conversation, &(struct record){ .kind = RECORD_MODEL_REPLY,
                                          .turn = conversation->turn + 1,
                                          .message = view_of(message),
                                          .usage = { .input_tokens = 10,
                                                     .output_tokens = 2,
                                                     .model_calls = 1 } });
}

static inline void calls(struct conversation *conversation)
{
    const struct call *call = conversation_call(conversation);
    apply(conversation, &(struct record){ .kind = RECORD_TOOL_INTENT,
                                          .turn = conversation->turn,
                                          .call = view_of(call->id) });
}

static inline void observes(struct conversation *conversation,
                            const struct cell *cell, const char *observation)
{
    const struct call *call = conversation_call(conversation);
    struct record record = { .kind = RECORD_TOOL_RESULT,
                             .turn = conversation->turn,
                             .call = view_of(call->id),
                             .observation = view_of(observation) };
    if (cell != NULL)
        record.cell = *cell;
    apply(conversation, &record);
}

#endif
