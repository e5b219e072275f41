/* event.c - the table of an event. */
#include "schemas/message/event.h"

#include "schemas/message/limits.h"
#include "schemas/message/table.h"

/* Room for what Redis puts around the data: seq, at, attempt, type, and their
 * names. So an event with data of the largest size still fits. */
enum { HEADER_BYTES = 192 };

static const struct field event_data_fields[] = {
    UINT(event_data, turn, 0, MAX_NUMBER,
         "Number of the turn in the conversation, from 1"),
    TEXT(event_data, text, FIELD_RAW, MAX_EVENT_BYTES,
         "Text of the model or of the cell"),
    TEXT(event_data, call, 0, MAX_NAME_BYTES,
         "Id of a call, unique in the job"),
    TEXT(event_data, parent, 0, MAX_NAME_BYTES,
         "The call whose code makes this one"),
    TEXT(event_data, tool, FIELD_RAW, MAX_NAME_BYTES, "Name of the tool"),
    TEXT(event_data, code, FIELD_RAW, MAX_EVENT_BYTES,
         "The code that is about to run"),
    TEXT(event_data, stream, 0, MAX_WORD_BYTES, "stdout or stderr"),
    TEXT(event_data, status, 0, MAX_WORD_BYTES, "How the call ended"),
    TEXT(event_data, state, 0, MAX_WORD_BYTES,
         "What happened to the session's variables and files"),
    UINT(event_data, ms, 0, MAX_NUMBER, "How long it took, in milliseconds"),
    STRUCT(event_data, image, 0, image_ref, "An image that a cell made"),
    STRUCT(event_data, display, 0, display,
           "A display that is new, or was updated"),
    STRUCT(event_data, file, 0, file_ref, "A file that a cell wrote"),
    STRUCT(event_data, error, 0, result_error, "Why"),
    TEXT(event_data, reason, FIELD_RAW, MAX_SENTENCE_BYTES, "Why"),
    UINT(event_data, wait_ms, 0, MAX_NUMBER,
         "Milliseconds until the job goes on"),
    UINT(event_data, until, 0, MAX_NUMBER,
         "Milliseconds since 1970: the job waits no longer"),
    TEXT(event_data, consumer, FIELD_RAW, MAX_NAME_BYTES,
         "The consumer that has the job"),
    TEXT(event_data, queue, 0, MAX_NAME_BYTES,
         "The queue in which the job waits"),
    TEXT(event_data, answer, FIELD_RAW, MAX_EVENT_BYTES,
         "The first 4 KiB of the answer"),
    UINT(event_data, from, 0, MAX_NUMBER, "Of a gap, the first seq"),
    UINT(event_data, to, 0, MAX_NUMBER, "Of a gap, the last seq"),
    TEXT(event_data, traceparent, 0, MAX_NAME_BYTES,
         "The trace of the job (W3C Trace Context)"),
    TEXT(event_data, tracestate, 0, MAX_TRACESTATE_BYTES,
         "What stands beside traceparent"),
    STRUCT(event_data, usage, 0, model_usage, "What the reply took"),
    UINT(event_data, item, 0, MAX_NUMBER,
         "The number of the item that this is about, from 1"),
};
const struct schema schema_event_data = {
    SCHEMA(event_data, "What happened; the members depend on type."),
    .max_bytes = MAX_EVENT_BYTES - HEADER_BYTES,
};

static const struct field event_fields[] = {
    UINT(event, seq, FIELD_REQUIRED, MAX_NUMBER, "1, 2, 3, ... in each job"),
    UINT(event, at, 0, MAX_NUMBER, "Milliseconds since 1970, Redis's clock"),
    UINT(event, attempt, 0, MAX_NUMBER, "The number of the attempt"),
    TEXT(event, type, FIELD_REQUIRED, MAX_WORD_BYTES,
         "job.queued, message.delta, ..."),
    STRUCT(event, data, 0, event_data, "Members depend on type"),
};
const struct schema schema_event = {
    SCHEMA(event, "Something that happened to a job."),
    .versioned = true,
    .max_bytes = MAX_EVENT_BYTES,
};

bool event_decode(struct event *event, struct view bytes, struct arena *arena,
                  struct err *err)
{
    return message_decode(&schema_event, bytes, event, arena, err);
}

bool event_is_terminal(struct view type)
{
    return view_is(type, "job.completed") || view_is(type, "job.incomplete") ||
           view_is(type, "job.failed") || view_is(type, "job.cancelled");
}
