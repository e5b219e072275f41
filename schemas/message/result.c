/* result.c - the tables of what came of a job. */
#include "schemas/message/result.h"

#include "schemas/message/id.h"
#include "schemas/message/limits.h"
#include "schemas/message/table.h"

const char *const job_state_names[] = {
    "scheduled",  "queued", "in_progress", "waiting", "completed",
    "incomplete", "failed", "cancelled",   NULL,
};

bool job_state_is_terminal(int state)
{
    return state >= STATE_COMPLETED && state <= STATE_CANCELLED;
}

int job_state_of(struct view name)
{
    for (int i = 0; job_state_names[i]; i++)
        if (view_is(name, job_state_names[i]))
            return i;
    return -1;
}

const char *const cell_status_names[] = {
    "ok",      "error",       "exit",    "timeout", "memory",
    "crashed", "interrupted", "unknown", NULL,
};

static const struct field image_ref_fields[] = {
    TEXT(image_ref, name, FIELD_REQUIRED, MAX_FILE_NAME_BYTES,
         "File name, figure-1.png"),
    TEXT(image_ref, mime, 0, MAX_NAME_BYTES, "Media type"),
    TEXT_OF_LENGTH(
        image_ref, blob, 0, SHA256_BYTES,
        "SHA-256 of the bytes, which are at <prefix>{000}:blob:<sha256>"),
    UINT(image_ref, bytes, 0, MAX_FILE_BYTES, "Length in bytes"),
    UINT(image_ref, width, 0, MAX_PIXELS, "Pixels"),
    UINT(image_ref, height, 0, MAX_PIXELS, "Pixels"),
    UINT(image_ref, from_cell, 0, MAX_NUMBER, "Index into cells"),
    BOOL(image_ref, active, 0,
         "It may run scripts or load data: show it only by <img>"),
};
const struct schema schema_image_ref = {
    SCHEMA(image_ref, "An image that a cell made."),
};

static const struct field cell_error_fields[] = {
    TEXT(cell_error, name, FIELD_RAW, MAX_SENTENCE_BYTES,
         "Class of the exception"),
    TEXT(cell_error, value, FIELD_RAW, MAX_STREAM_BYTES, "Its text"),
    TEXT(cell_error, traceback, FIELD_RAW, MAX_OBSERVATION_BYTES,
         "The traceback, with lines of the cell"),
};
const struct schema schema_cell_error = {
    SCHEMA(cell_error, "An exception inside a cell: data for the model, not "
                       "an error of the job."),
};

static const struct field display_part_fields[] = {
    TEXT(display_part, name, FIELD_REQUIRED, MAX_FILE_NAME_BYTES,
         "File name, display-1.html; unique in the job"),
    TEXT(display_part, mime, FIELD_REQUIRED, MAX_NAME_BYTES, "Media type"),
    TEXT_OF_LENGTH(
        display_part, blob, FIELD_REQUIRED, SHA256_BYTES,
        "SHA-256 of the bytes, which are at <prefix>{000}:blob:<sha256>"),
    UINT(display_part, bytes, 0, MAX_FILE_BYTES, "Length in bytes"),
    UINT(display_part, width, 0, MAX_PIXELS, "Pixels"),
    UINT(display_part, height, 0, MAX_PIXELS, "Pixels"),
    BOOL(display_part, active, 0,
         "It may run scripts or load data: show it only in a sandbox"),
};
const struct schema schema_display_part = {
    SCHEMA(display_part, "One form of a display: HTML, an image, data, ..."),
};

static const struct field display_fields[] = {
    TEXT(display, text, FIELD_RAW, MAX_STREAM_BYTES,
         "Its text/plain, head and tail when long"),
    LIST(display, parts, 0, display_part, MAX_PARTS,
         "The display in richer forms"),
    TEXT(display, id, FIELD_RAW, MAX_NAME_BYTES,
         "display_id: an update replaces the display with this id"),
};
const struct schema schema_display = {
    SCHEMA(display, "Something that a cell displayed."),
};

const char *const file_change_names[] = {
    "same", "new", "changed", "deleted", NULL,
};

static const struct field cell_file_fields[] = {
    TEXT(cell_file, name, FIELD_REQUIRED, MAX_FILE_NAME_BYTES,
         "Base name, as in the result's files"),
    TEXT(cell_file, path, FIELD_RAW, MAX_PATH_BYTES,
         "Path in the workspace, any bytes; absent: same as name"),
    TEXT_OF_LENGTH(
        cell_file, blob, 0, SHA256_BYTES,
        "SHA-256 of the bytes, which are at <prefix>{000}:blob:<sha256>"),
    UINT(cell_file, bytes, 0, MAX_NUMBER, "Length in bytes"),
    TEXT(cell_file, mime, 0, MAX_NAME_BYTES, "Media type"),
    ENUM(cell_file, change, FIELD_ALWAYS, file_change_names,
         "What the cell did to it"),
    TEXT(cell_file, note, FIELD_RAW, MAX_SENTENCE_BYTES,
         "Why there is no blob"),
};
const struct schema schema_cell_file = {
    SCHEMA(cell_file, "A file of the workspace that a cell wrote, changed or "
                      "deleted."),
};

static const struct field cell_fields[] = {
    TEXT(cell, code, FIELD_RAW, MAX_CODE_BYTES, "The code that ran"),
    ENUM(cell, status, FIELD_ALWAYS, cell_status_names, "How the cell ended"),
    ENUM(cell, state, FIELD_ALWAYS, cell_state_names,
         "What happened to the session's variables and files"),
    TEXT(cell, reason, FIELD_RAW, MAX_SENTENCE_BYTES,
         "Why the state is not kept"),
    TEXT_AS("stdout", cell, out, FIELD_RAW, MAX_STREAM_BYTES,
            "Readable text: no escapes, head and tail when long, an "
            "overwritten line in its last state"),
    TEXT_AS("stderr", cell, errout, FIELD_RAW, MAX_STREAM_BYTES, "As stdout"),
    UINT_AS("stdout_bytes", cell, out_bytes, 0, MAX_NUMBER,
            "Bytes written since the last clear, shown or not"),
    UINT_AS("stderr_bytes", cell, errout_bytes, 0, MAX_NUMBER,
            "As stdout_bytes"),
    BLOB_AS("stdout_blob", cell, out_blob,
            "SHA-256 of the exact bytes, when stdout differs from them"),
    BLOB_AS("stderr_blob", cell, errout_blob,
            "SHA-256 of the exact bytes, when stderr differs from them"),
    TEXT(cell, result, FIELD_RAW, MAX_OBSERVATION_BYTES,
         "The last expression's value, as text"),
    STRUCT(cell, error, 0, cell_error, "The exception that ended the cell"),
    LIST(cell, displays, 0, display, MAX_DISPLAYS,
         "What the cell displayed, as it stood at the end of the cell"),
    LIST(cell, updates, 0, display, MAX_DISPLAYS,
         "In journals: new forms of displays of earlier cells, by their id"),
    LIST(cell, files, 0, cell_file, MAX_CELL_FILES,
         "Files that the cell wrote, changed or deleted"),
    TEXT(cell, notes, FIELD_RAW, MAX_NOTES_BYTES,
         "What was dropped, a line each"),
    UINT(cell, number, 0, MAX_NUMBER,
         "The cell's number in its session, from 1, as in tracebacks"),
    UINT(cell, line, 0, MAX_NUMBER,
         "The line of the code that ran when the cell was killed; absent: not "
         "known"),
    UINT(cell, peak_bytes, 0, MAX_NUMBER,
         "The highest memory use of the session that was measured"),
    UINT(cell, ms, 0, MAX_NUMBER, "Milliseconds"),
};
const struct schema schema_cell = {
    SCHEMA(cell, "A cell that ran, and its outcome."),
};

static const struct field model_usage_fields[] = {
    TEXT(model_usage, name, FIELD_REQUIRED, MAX_NAME_BYTES,
         "The model's name in the operator's configuration"),
    UINT(model_usage, input_tokens, 0, MAX_NUMBER,
         "Tokens that the model read"),
    UINT(model_usage, output_tokens, 0, MAX_NUMBER,
         "Tokens that the model wrote"),
    UINT(model_usage, cached_tokens, 0, MAX_NUMBER,
         "Input tokens that came from the model's cache"),
    UINT(model_usage, cache_write_tokens, 0, MAX_NUMBER,
         "Input tokens that were written to the model's cache"),
    UINT(model_usage, uncounted_tokens, 0, MAX_NUMBER, "As in usage"),
    UINT(model_usage, cost, 0, MAX_NUMBER, "Micro-dollars"),
    UINT(model_usage, model_calls, 0, MAX_NUMBER,
         "Requests that the model answered"),
};
const struct schema schema_model_usage = {
    SCHEMA(model_usage, "The use of one model."),
};

static const struct field usage_fields[] = {
    UINT(usage, input_tokens, 0, MAX_NUMBER, "Tokens read by models"),
    UINT(usage, output_tokens, 0, MAX_NUMBER, "Tokens written by models"),
    UINT(usage, cached_tokens, 0, MAX_NUMBER,
         "Input tokens that came from a model's cache"),
    UINT(usage, cache_write_tokens, 0, MAX_NUMBER,
         "Input tokens that were written to a model's cache"),
    UINT(usage, uncounted_tokens, 0, MAX_NUMBER,
         "An estimate, beside these: for replies without a count, and for "
         "requests with an unknown outcome"),
    UINT(usage, cost, 0, MAX_NUMBER,
         "Micro-dollars: as the endpoints say, else by the operator's prices; "
         "uncounted tokens included"),
    UINT(usage, model_calls, 0, MAX_NUMBER, "Requests to models"),
    UINT(usage, repeated_calls, 0, MAX_NUMBER,
         "Of these, requests sent again because the outcome was unknown"),
    LIST(usage, models, 0, model_usage, MAX_MODELS, "By model"),
};
const struct schema schema_usage = {
    SCHEMA(usage, "What the job used."),
};

static const struct field timings_fields[] = {
    UINT(timings, queued, 0, MAX_NUMBER, "Waiting to start"),
    UINT(timings, model, 0, MAX_NUMBER, "Waiting for models"),
    UINT(timings, tools, 0, MAX_NUMBER, "Running tools"),
    UINT(timings, total, 0, MAX_NUMBER, "From submit to the end"),
};
static const struct schema schema_timings = {
    SCHEMA(timings, "Where the time went, in milliseconds."),
};

static const struct field result_error_fields[] = {
    TEXT(result_error, kind, 0, MAX_WORD_BYTES, "retry or reject"),
    TEXT(result_error, code, FIELD_REQUIRED, MAX_WORD_BYTES,
         "A stable word: see Error codes"),
    TEXT(result_error, message, FIELD_RAW, MAX_STREAM_BYTES,
         "A sentence that says what to change"),
    BOOL(result_error, retryable, 0, "The same job may succeed later"),
};
const struct schema schema_result_error = {
    SCHEMA(result_error, "Why the job failed or is incomplete."),
};

static const struct field result_call_fields[] = {
    TEXT(result_call, call_id, FIELD_REQUIRED, MAX_NAME_BYTES,
         "The id of the call: the message that answers it has it as "
         "tool_call_id"),
    TEXT(result_call, name, FIELD_REQUIRED, MAX_NAME_BYTES,
         "The name of the function"),
    TEXT(result_call, arguments, FIELD_ALWAYS, MAX_TOOL_BYTES,
         "A JSON object, or what the model wrote in its place"),
};
static const struct schema schema_result_call = {
    SCHEMA(result_call, "A call of a function of the caller."),
};

static const struct field result_item_fields[] = {
    UINT(result_item, number, FIELD_REQUIRED, MAX_NUMBER,
         "Among all items of the job, also those that are void, from 1"),
    ENUM(result_item, kind, 0, item_kind_names, "What it is; absent: message"),
    TEXT(result_item, text, FIELD_RAW, MAX_RESULT_BYTES,
         "message: its text, if that is not the answer; search: what was asked "
         "for"),
    TEXT(result_item, call, FIELD_RAW, MAX_NAME_BYTES,
         "function: the call_id among calls; code, search: the call, as events "
         "name it"),
    UINT(result_item, cell, 0, MAX_NUMBER,
         "code: which of the cells, from 1; 0: it was not run"),
};
const struct schema schema_result_item = {
    SCHEMA(result_item, "A part of what the model has said and done."),
};

static const struct field result_fields[] = {
    TEXT_OF_LENGTH(result, id, FIELD_REQUIRED, ID_LEN, "The job's id"),
    ENUM(result, status, FIELD_REQUIRED | FIELD_ALWAYS, job_state_names,
         "completed, incomplete (stopped by a limit), failed or cancelled"),
    TEXT(result, answer, 0, MAX_ANSWER_BYTES, "Markdown"),
    ANY(result, output, 0, "The answer as a value that fits output_schema"),
    ANY(result, messages, 0, "The conversation, in OpenAI's chat format"),
    LIST(result, calls, 0, result_call, MAX_MESSAGE_CALLS,
         "Calls of the job's functions, for the caller to run"),
    LIST(result, images, 0, image_ref, MAX_IMAGES, "Images made by cells"),
    LIST(result, files, 0, file_ref, MAX_FILES,
         "Files that cells wrote or changed"),
    LIST(result, cells, 0, cell, MAX_CELLS, "The cells that ran, in order"),
    STRUCT(result, usage, 0, usage, "What the job used"),
    UINT(result, attempts, 0, MAX_NUMBER, "Starts of the job"),
    STRUCT(result, timings, 0, timings, "Milliseconds"),
    STRUCT(result, error, 0, result_error,
           "Why the job failed or is incomplete"),
    TEXT(result, model, 0, MAX_NAME_BYTES, "The model that answered"),
    TEXT(result, session, 0, MAX_NAME_BYTES, "The Python session"),
    TEXT(result, isolation, 0, MAX_SENTENCE_BYTES,
         "Walls in force around the code, or insecure"),
    TEXT(result, notes, FIELD_RAW, MAX_STREAM_BYTES,
         "What was cut or ignored, a sentence each"),
    MAP(result, metadata, 0, MAX_METADATA, "The job's metadata"),
    LIST(result, listing, 0, session_file, MAX_SESSION_FILES,
         "Action files: the workspace"),
    STRUCT(result, record, 0, session_record,
           "Kind session: the record of the session, or of its fork"),
    LIST(result, items, 0, result_item, MAX_RESULT_ITEMS,
         "What the model has said and done, in parts, by number"),
    TEXT_OF_LENGTH(result, conversation, 0, SHA256_BYTES,
                   "The blob with all messages, from which other jobs may go "
                   "on; absent: the job names no keep_ms"),
};
const struct schema schema_result = {
    SCHEMA(result, "The outcome of a job."),
    .versioned = true,
    .max_bytes = MAX_RESULT_BYTES,
};
