/* history.c - the table of what was said in the jobs of a session. */
#include "schemas/message/history.h"

#include "schemas/message/id.h"
#include "schemas/message/limits.h"
#include "schemas/message/table.h"

static const struct field exchange_fields[] = {
    TEXT_OF_LENGTH(exchange, job, FIELD_REQUIRED, ID_LEN, "The job that asked"),
    TEXT(exchange, question, 0, MAX_HISTORY_BYTES, "The user's last message"),
    TEXT(exchange, work, 0, MAX_HISTORY_BYTES,
         "The code that ran, and the names of what it left"),
    TEXT(exchange, answer, 0, MAX_HISTORY_BYTES, "Markdown"),
};
static const struct schema schema_exchange = {
    SCHEMA(exchange, "A question and its answer."),
};

static const struct field history_fields[] = {
    LIST(history, exchanges, 0, exchange, MAX_EXCHANGES, "The oldest first"),
};
const struct schema schema_history = {
    SCHEMA(history, "The conversation of a session's jobs."),
    .versioned = true,
    .max_bytes = MAX_HISTORY_BYTES,
};
