/* session.c - the table of a session's record. */
#include "schemas/message/session.h"

#include "schemas/message/id.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "schemas/message/table.h"

const char *const cell_state_names[] = {
    "kept", "rolled_back", "restored", "lost", NULL,
};

static const struct field session_file_fields[] = {
    TEXT(session_file, name, FIELD_REQUIRED | FIELD_RAW, MAX_PATH_BYTES,
         "Its path in the workspace, any bytes"),
    TEXT_OF_LENGTH(
        session_file, blob, 0, SHA256_BYTES,
        "SHA-256 of the bytes, which are at <prefix>{000}:blob:<sha256>"),
    UINT(session_file, bytes, 0, MAX_NUMBER, "Length in bytes"),
    TEXT(session_file, note, FIELD_RAW, MAX_SENTENCE_BYTES,
         "Why there is no blob"),
    BOOL(session_file, given, 0,
         "It came with a job, and code has not changed it"),
};
const struct schema schema_session_file = {
    SCHEMA(session_file, "A file of a session's workspace."),
};

static const struct field session_record_fields[] = {
    TEXT(session_record, name, FIELD_REQUIRED, MAX_NAME_BYTES,
         "The session's name, as in jobs"),
    TEXT(session_record, tenant, FIELD_REQUIRED, MAX_NAME_BYTES,
         "The session's tenant"),
    TEXT(session_record, holder, 0, MAX_NAME_BYTES,
         "The executor's session that has it in memory: host/executor.number; "
         "absent: none"),
    UINT(session_record, generation, FIELD_REQUIRED, MAX_NUMBER,
         "A number that every write raises"),
    BOOL(session_record, closed, 0,
         "The session was closed; a job of that name begins a new one"),
    BLOB_AS("picture", session_record, picture,
            "SHA-256 of its variables, pickled; absent: see unsaved"),
    UINT(session_record, picture_bytes, 0, MAX_PICTURE_BYTES,
         "Length in bytes"),
    TEXT(session_record, unsaved, FIELD_RAW, MAX_SENTENCE_BYTES,
         "Why there is no picture"),
    MAP(session_record, missing, 0, MAX_MISSING,
        "Variables that are not in the picture, each with the reason"),
    LIST(session_record, files, 0, session_file, MAX_SESSION_FILES,
         "The files of the workspace"),
    LIST(session_record, packages, 0, text, MAX_PACKAGES,
         "Packages that were installed in it, name==version"),
    BLOB_AS("history", session_record, history,
            "SHA-256 of its conversation; absent: there is none"),
    UINT(session_record, history_bytes, 0, MAX_HISTORY_BYTES,
         "Length in bytes"),
    UINT(session_record, exchanges, 0, MAX_EXCHANGES,
         "Number of questions with answers in the conversation"),
    UINT(session_record, cells, 0, MAX_NUMBER,
         "Number of cells that have run in it"),
    TEXT_OF_LENGTH(session_record, job, 0, ID_LEN,
                   "The job that saved it last"),
    UINT(session_record, created_ms, 0, MAX_NUMBER, "Milliseconds since 1970"),
    UINT(session_record, updated_ms, 0, MAX_NUMBER, "Milliseconds since 1970"),
    ENUM(session_record, state, 0, cell_state_names,
         "What the next cell is told about variables and files"),
    TEXT(session_record, note, FIELD_RAW, MAX_SENTENCE_BYTES, "... and why"),
};
const struct schema schema_session_record = {
    SCHEMA(session_record, "A session that outlives its jobs and its host."),
    .versioned = true,
    .max_bytes = MAX_SESSION_BYTES,
};
