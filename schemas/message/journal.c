/* journal.c - the table of a journal's record. */
#include "schemas/message/journal.h"

#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "schemas/message/table.h"
#include "schemas/message/trace.h"

const char *const record_kind_names[] = {
    "model_intent", "model_reply", "tool_intent", "tool_result",
    "approval",     "model_sent",  NULL,
};

const char *const verdict_names[] = {
    "none",       "approve", "reject", "edit", "skip",
    "regenerate", "ask",     "abort",  NULL,
};

const char *const record_purpose_names[] = { "turn", "summary", NULL };

const char *const record_brake_names[] = { "none", "hint", "forbid", NULL };

static const struct field record_fields[] = {
    ENUM(record, kind, FIELD_REQUIRED | FIELD_ALWAYS, record_kind_names,
         "What is about to be done, or was done"),
    UINT(record, attempt, 0, MAX_NUMBER, "Start of the job that wrote it"),
    TEXT_OF_LENGTH(record, span, 0, TRACE_PARENT_LEN,
                   "The span of that attempt, where it is traced"),
    UINT(record, turn, FIELD_REQUIRED, MAX_NUMBER, "From 1"),
    ENUM(record, purpose, 0, record_purpose_names,
         "model_*: what the model is asked for"),
    TEXT_OF_LENGTH(record, hash, 0, SHA256_BYTES,
                   "SHA-256 of the request's body, or of tool and arguments"),
    TEXT(record, message, FIELD_RAW, MAX_RECORD_BYTES,
         "model_reply: the assistant message, JSON"),
    TEXT(record, finish_reason, FIELD_RAW, MAX_NAME_BYTES, "model_reply"),
    STRUCT(record, usage, 0, usage,
           "model_reply; model_intent that was refused: what was counted"),
    TEXT(record, model, FIELD_RAW, MAX_NAME_BYTES,
         "model_*: name of the endpoint"),
    TEXT(record, reply_id, FIELD_RAW, MAX_REPLY_ID_BYTES,
         "model_sent: by which the endpoint keeps the reply"),
    UINT(record, reserved, 0, MAX_NUMBER,
         "model_intent: tokens that it may take, with its reply"),
    UINT(record, reply, 0, MAX_NUMBER,
         "model_intent: those of them that are of the reply, where the job "
         "limits these"),
    UINT(record, cost, 0, MAX_NUMBER,
         "model_intent: micro-dollars that these may cost"),
    TEXT(record, call, 0, MAX_NAME_BYTES,
         "tool_*: unique in the job, \"turn.index\""),
    UINT(record, number, 0, MAX_NUMBER,
         "tool_*: of a call that the code of the call makes"),
    BOOL(record, failed, 0,
         "model_intent: refused, or with last not made; tool_result: not "
         "carried out, observation says why"),
    TEXT(record, last, 0, MAX_NAME_BYTES,
         "model_intent: why an answer was asked for, without tools; of a "
         "summary that failed, why"),
    UINT(record, kept, 0, MAX_NUMBER,
         "model_intent: where what is sent begins, behind the head; of a "
         "summary, where what it stands for ends"),
    UINT(record, tokens, 0, MAX_NUMBER,
         "model_intent: of what is sent, estimated"),
    UINT(record, counted, 0, MAX_NUMBER,
         "model_intent: of what was refused as too long, as its endpoint "
         "counts"),
    TEXT(record, terms, FIELD_RAW, MAX_TERMS_BYTES,
         "model_intent: under which the model is asked, JSON, when they are "
         "not those of the intent before it"),
    TEXT_OF_LENGTH(record, history, 0, SHA256_BYTES,
                   "model_intent: the blob of what was said in the session "
                   "before"),
    LIST(record, shown, 0, text, MAX_SHOWN,
         "model_intent: the blobs of the pictures that it holds"),
    ENUM(record, brake, 0, record_brake_names,
         "tool_result: what was done because it goes round in circles"),
    TEXT(record, call_id, FIELD_RAW, MAX_SENTENCE_BYTES,
         "The model's own tool_call_id"),
    TEXT(record, tool, FIELD_RAW, MAX_SENTENCE_BYTES,
         "Name, as the model wrote it"),
    TEXT(record, arguments, FIELD_RAW, MAX_RECORD_BYTES,
         "tool_intent: as the model wrote them; approval: text of edit, ask"),
    TEXT(record, observation, FIELD_RAW, MAX_RECORD_BYTES,
         "tool_result: what the model is shown; approval: a note"),
    ENUM(record, verdict, 0, verdict_names,
         "approval: what was said of the call"),
    STRUCT(record, cell, 0, cell, "tool_result of execute_python_code"),
    BOOL(record, emptied, 0,
         "tool_result: the files that cells had written were gone by its end"),
    LIST(record, images, 0, image_ref, MAX_IMAGES, "What it left"),
    LIST(record, files, 0, file_ref, MAX_FILES, "What it left"),
    UINT(record, ms, 0, MAX_NUMBER, "Milliseconds"),
    UINT(record, item, 0, MAX_NUMBER,
         "model_reply: the item of its message; tool_*: of the call"),
    UINT(record, reasoning_item, 0, MAX_NUMBER,
         "model_reply: the item of its reasoning"),
    UINT(record, function_item, 0, MAX_NUMBER,
         "model_reply: the item of its first call of a function of the caller"),
};
const struct schema schema_record = {
    SCHEMA(record, "A step of a conversation, so that another goes on."),
    .versioned = true,
    .max_bytes = MAX_RECORD_BYTES,
};
