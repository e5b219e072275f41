/* names.h - what spans and their attributes are called.
 *
 * By the semantic conventions of OpenTelemetry, version 1.41, the last one that
 * has those for generative AI; from their successor comes one name only,
 * cache_write (1.41: cache_creation). They are in development: whoever takes a
 * newer version changes TRACE_SCHEMA_URL and the table in names.c together.
 *
 * https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs:
 * messaging/messaging-spans.md, gen-ai/gen-ai-spans.md. What they have no name
 * for begins with "quern.". */
#ifndef CONSUMER_TRACE_NAMES_H
#define CONSUMER_TRACE_NAMES_H

#include "schemas/message/view.h"

#define TRACE_SCHEMA_URL "https://opentelemetry.io/schemas/1.41.0"

/* The first word of a span's name, and the value of an operation's attribute.
 */
#define OPERATION_PROCESS "process"      /* and the queue */
#define OPERATION_AGENT "invoke_agent"   /* a turn */
#define OPERATION_CHAT "chat"            /* and the model */
#define OPERATION_FETCH "fetch_response" /* and the model */
#define OPERATION_TOOL "execute_tool"    /* and the tool */
#define SPAN_CELL "quern.cell"

/* What stands for a tool that a model has made up: its words must not become a
 * name. */
#define TRACE_OTHER "_OTHER"

enum trace_key {
    KEY_MESSAGING_SYSTEM,
    KEY_MESSAGING_OPERATION,
    KEY_MESSAGING_OPERATION_TYPE,
    KEY_MESSAGING_DESTINATION,
    KEY_MESSAGING_PARTITION,
    KEY_MESSAGING_MESSAGE,
    KEY_ERROR_TYPE,
    KEY_SERVER_ADDRESS,
    KEY_SERVER_PORT,
    KEY_HTTP_STATUS,
    KEY_OPERATION,
    KEY_PROVIDER,
    KEY_CONVERSATION,
    KEY_REQUEST_MODEL,
    KEY_FINISH_REASONS,
    KEY_FIRST_CHUNK,
    KEY_INPUT_TOKENS,
    KEY_OUTPUT_TOKENS,
    KEY_CACHE_READ_TOKENS,
    KEY_CACHE_WRITE_TOKENS,
    KEY_TOOL_NAME,
    KEY_TOOL_TYPE,
    KEY_TOOL_CALL,
    /* Content: only when the operator has switched it on. */
    KEY_INPUT_MESSAGES,
    KEY_OUTPUT_MESSAGES,
    KEY_TOOL_ARGUMENTS,
    KEY_TOOL_RESULT,
    /* Ours. */
    KEY_JOB_KIND,
    KEY_JOB_ATTEMPT,
    KEY_JOB_OUTCOME,
    KEY_TENANT,
    KEY_TURN,
    KEY_ENDPOINT,
    KEY_COST,
    KEY_SUMMARY,
    KEY_CELL_OUTCOME,
    KEY_CELL_STATE,
    KEY_CELL_PEAK,
    TRACE_KEYS,
};

/* An attribute in OTLP's JSON: what stands before and behind its value. */
struct trace_name {
    const char *key;
    struct view before, behind;
};
extern const struct trace_name trace_names[TRACE_KEYS];

#endif
