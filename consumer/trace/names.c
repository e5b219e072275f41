/* names.c - the table of attributes. */
#include "consumer/trace/names.h"

#define ROW(key, before, behind)                                               \
    {                                                                          \
        key, VIEW_INIT("{\"key\":\"" key "\",\"value\":{" before),             \
            VIEW_INIT(behind "}}")                                             \
    }
#define TEXT(key) ROW(key, "\"stringValue\":\"", "\"")
#define WHOLE(key) ROW(key, "\"intValue\":\"", "\"") /* 64 bits: as a text */
#define REAL(key) ROW(key, "\"doubleValue\":", "")
#define FLAG(key) ROW(key, "\"boolValue\":", "")
#define TEXTS(key) /* of one */                                                \
    ROW(key, "\"arrayValue\":{\"values\":[{\"stringValue\":\"", "\"}]}")

const struct trace_name trace_names[TRACE_KEYS] = {
    [KEY_MESSAGING_SYSTEM] = TEXT("messaging.system"),
    [KEY_MESSAGING_OPERATION] = TEXT("messaging.operation.name"),
    [KEY_MESSAGING_OPERATION_TYPE] = TEXT("messaging.operation.type"),
    [KEY_MESSAGING_DESTINATION] = TEXT("messaging.destination.name"),
    [KEY_MESSAGING_PARTITION] = TEXT("messaging.destination.partition.id"),
    [KEY_MESSAGING_MESSAGE] = TEXT("messaging.message.id"),
    [KEY_ERROR_TYPE] = TEXT("error.type"),
    [KEY_SERVER_ADDRESS] = TEXT("server.address"),
    [KEY_SERVER_PORT] = WHOLE("server.port"),
    [KEY_HTTP_STATUS] = WHOLE("http.response.status_code"),
    [KEY_OPERATION] = TEXT("gen_ai.operation.name"),
    [KEY_PROVIDER] = TEXT("gen_ai.provider.name"),
    [KEY_CONVERSATION] = TEXT("gen_ai.conversation.id"),
    [KEY_REQUEST_MODEL] = TEXT("gen_ai.request.model"),
    [KEY_FINISH_REASONS] = TEXTS("gen_ai.response.finish_reasons"),
    [KEY_FIRST_CHUNK] = REAL("gen_ai.response.time_to_first_chunk"),
    [KEY_INPUT_TOKENS] = WHOLE("gen_ai.usage.input_tokens"),
    [KEY_OUTPUT_TOKENS] = WHOLE("gen_ai.usage.output_tokens"),
    [KEY_CACHE_READ_TOKENS] = WHOLE("gen_ai.usage.cache_read.input_tokens"),
    [KEY_CACHE_WRITE_TOKENS] = WHOLE("gen_ai.usage.cache_write.input_tokens"),
    [KEY_TOOL_NAME] = TEXT("gen_ai.tool.name"),
    [KEY_TOOL_TYPE] = TEXT("gen_ai.tool.type"),
    [KEY_TOOL_CALL] = TEXT("gen_ai.tool.call.id"),
    [KEY_INPUT_MESSAGES] = TEXT("gen_ai.input.messages"),
    [KEY_OUTPUT_MESSAGES] = TEXT("gen_ai.output.messages"),
    [KEY_TOOL_ARGUMENTS] = TEXT("gen_ai.tool.call.arguments"),
    [KEY_TOOL_RESULT] = TEXT("gen_ai.tool.call.result"),
    [KEY_JOB_KIND] = TEXT("quern.job.kind"),
    [KEY_JOB_ATTEMPT] = WHOLE("quern.job.attempt"),
    [KEY_JOB_OUTCOME] = TEXT("quern.job.outcome"),
    [KEY_TENANT] = TEXT("quern.tenant"),
    [KEY_TURN] = WHOLE("quern.turn"),
    [KEY_ENDPOINT] = TEXT("quern.endpoint"),
    [KEY_COST] = WHOLE("quern.cost"), /* micro-dollars */
    [KEY_SUMMARY] = FLAG("quern.summary"),
    [KEY_CELL_OUTCOME] = TEXT("quern.cell.outcome"),
    [KEY_CELL_STATE] = TEXT("quern.cell.state"),
    [KEY_CELL_PEAK] = WHOLE("quern.cell.peak_memory"),
};
