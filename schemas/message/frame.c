/* frame.c - frames and the tables of what they carry. */
#include "schemas/message/frame.h"

#include "schemas/message/limits.h"
#include "schemas/message/table.h"

const char *const frame_type_names[] = {
    "hello",   "open",    "run",     "interrupt", "put",    "get",
    "list",    "close",   "forget",  "sessions",  "answer", "welcome",
    "opened",  "output",  "display", "restart",   "tool",   "done",
    "chunk",   "listing", "ok",      "failed",    "update", "clear",
    "numbers", NULL,
};

static const char *const guest_type_names[] = {
    "cell",    "snapshot", "answer",  "ready", "display", "tool",
    "install", "figure",   "drawing", "done",  "fork",    "forked",
    "exited",  "update",   "clear",   NULL,
};

static const char *const task_names[] = { "code", "save", "restore", NULL };

enum {
    MAX_LISTING = 4096,   /* files of a workspace */
    MAX_BUNDLE = 32,      /* MIME types of one display */
    MAX_SESSIONS = 10000, /* of an executor, in one listing */
    MAX_LACKS_TOLD = 8    /* walls that could be more */
};

static const struct field workspace_file_fields[] = {
    TEXT(workspace_file, name, FIELD_REQUIRED | FIELD_RAW, MAX_PATH_BYTES,
         "Relative to the workspace"),
    UINT(workspace_file, bytes, 0, MAX_NUMBER, "Length in bytes"),
    ENUM(workspace_file, change, 0, file_change_names, "By the cell"),
};
static const struct schema schema_workspace_file = {
    SCHEMA(workspace_file, "A file of a session."),
};

static const struct field session_info_fields[] = {
    TEXT(session_info, name, FIELD_REQUIRED, MAX_NAME_BYTES, "Session"),
    TEXT(session_info, state, 0, MAX_WORD_BYTES, "Of its machine"),
    UINT(session_info, cells, 0, MAX_NUMBER, "Run in it so far"),
    UINT(session_info, idle_ms, 0, MAX_NUMBER, "Since the last request"),
    UINT(session_info, memory_bytes, 0, MAX_NUMBER, "Resident, in all"),
    BOOL(session_info, snapshot, 0, "A killed cell would be rolled back"),
};
static const struct schema schema_session_info = {
    SCHEMA(session_info, "A session that is open."),
};

static const struct field session_limits_fields[] = {
    UINT(session_limits, memory_bytes, 0, MAX_NUMBER, "Bytes"),
    UINT(session_limits, disk_bytes, 0, MAX_NUMBER, "Bytes"),
    UINT(session_limits, processes, 0, MAX_NUMBER, "Processes and threads"),
};
static const struct schema schema_session_limits = {
    SCHEMA(session_limits, "Absent or 0: the warden's default."),
};

static const struct field frame_fields[] = {
    ENUM(frame, type, FIELD_REQUIRED | FIELD_ALWAYS, frame_type_names,
         "What the frame asks or says"),
    UINT(frame, ref, 0, UINT64_MAX, "Given back in every answer"),
    TEXT(frame, session, 0, MAX_NAME_BYTES, "Session"),
    TEXT(frame, call, 0, MAX_NAME_BYTES, "Call"),
    ENUM(frame, task, 0, task_names, "run"),
    TEXT(frame, code, FIELD_RAW, MAX_CODE_BYTES, "run: code"),
    TEXT(frame, tools, 0, MAX_TOOLS_BYTES, "run: functions, as JSON"),
    MAP(frame, env, 0, MAX_ENV, "run: environment variables of the cell"),
    BYTES(frame, picture, 0, MAX_PICTURE_BYTES, "run: restore; done: save"),
    UINT(frame, cell_ms, 0, MAX_CELL_MS, "run: its deadline"),
    TEXT(frame, profile, 0, MAX_WORD_BYTES, "open: bare, science"),
    STRUCT(frame, limits, 0, session_limits, "open"),
    UINT(frame, number, 0, UINT64_MAX,
         "run: of the cell; tool, answer: of the tool's call"),
    TEXT(frame, name, FIELD_RAW, MAX_PATH_BYTES,
         "put, get: the file; tool: its name"),
    BYTES(frame, data, 0, MAX_TOOL_BYTES,
          "put, output, chunk; tool, answer: JSON; numbers: text"),
    UINT(frame, offset, 0, MAX_NUMBER,
         "put, chunk: of data in the file; output: in the stream, where some "
         "before it is left out"),
    BOOL(frame, last, 0, "Nothing follows data"),
    BOOL(frame, fresh, 0,
         "opened: nothing has run in it; done: it ran just now"),
    BOOL(frame, emptied, 0, "done: the workspace was lost"),
    TEXT(frame, holder, 0, MAX_NAME_BYTES, "opened: host/executor.number"),
    TEXT(frame, stream, 0, MAX_WORD_BYTES, "output: stdout, stderr"),
    MAP(frame, bundle, 0, MAX_BUNDLE, "display, update: media type, bytes"),
    TEXT(frame, display_id, FIELD_RAW, MAX_NAME_BYTES,
         "display, update: by which it is updated"),
    BOOL(frame, wait, 0, "clear: only when more comes"),
    UINT(frame, clears, 0, MAX_NUMBER, "display: that came before it"),
    STRUCT(frame, cell, 0, cell, "done"),
    LIST(frame, files, 0, workspace_file, MAX_LISTING, "done, listing"),
    LIST(frame, sessions, 0, session_info, MAX_SESSIONS, "listing"),
    STRUCT(frame, error, 0, result_error, "failed"),
    TEXT(frame, isolation, 0, MAX_SENTENCE_BYTES, "welcome: walls in force"),
    MAP(frame, lacks, 0, MAX_LACKS_TOLD,
        "welcome: walls that could be more, and how to get them"),
    TEXT(frame, libraries, 0, MAX_LIBRARIES_BYTES,
         "welcome: what code may import, with commas"),
    TEXT(frame, version, 0, MAX_WORD_BYTES, "hello, welcome"),
    BOOL(frame, counts, 0, "welcome: it answers numbers"),
};
const struct schema schema_frame = {
    SCHEMA(frame, "Between consumer and warden."),
    .versioned = true,
    .max_bytes = MAX_FRAME_BYTES,
};

static const struct field guest_frame_fields[] = {
    ENUM(guest_frame, type, FIELD_REQUIRED | FIELD_ALWAYS, guest_type_names,
         "What the frame asks or says"),
    UINT(guest_frame, nonce, 0, UINT64_MAX, "Of the cell"),
    UINT(guest_frame, number, 0, UINT64_MAX, "Of the cell; of the box"),
    ENUM(guest_frame, task, 0, task_names, "cell"),
    TEXT(guest_frame, code, FIELD_RAW, MAX_CODE_BYTES, "cell"),
    TEXT(guest_frame, tools, 0, MAX_TOOLS_BYTES, "cell: functions, as JSON"),
    MAP(guest_frame, env, 0, MAX_ENV, "cell: environment variables"),
    BOOL(guest_frame, last, 0, "cell: the session ends with it"),
    BOOL(guest_frame, at_exit, 0, "done: functions wait for the session's end"),
    BYTES(guest_frame, picture, 0, MAX_PICTURE_BYTES, "cell, done"),
    TEXT(guest_frame, name, 0, MAX_NAME_BYTES, "tool"),
    BYTES(guest_frame, data, 0, MAX_TOOL_BYTES, "tool, install, answer"),
    TEXT(guest_frame, missing, 0, MAX_NAME_BYTES,
         "done: the top-level module that could not be imported"),
    MAP(guest_frame, bundle, 0, MAX_BUNDLE,
        "display, update: media type, bytes"),
    TEXT(guest_frame, display_id, FIELD_RAW, MAX_NAME_BYTES,
         "display, update: by which it is updated"),
    BOOL(guest_frame, wait, 0, "clear: only when more comes"),
    UINT(guest_frame, clears, 0, MAX_NUMBER, "display: that came before it"),
    ENUM(guest_frame, status, 0, cell_status_names, "done"),
    TEXT(guest_frame, result, FIELD_RAW, MAX_OBSERVATION_BYTES, "done"),
    STRUCT(guest_frame, error, 0, cell_error, "done"),
    UINT(guest_frame, pid, 0, UINT64_MAX, "forked, exited"),
    UINT(guest_frame, wait_status, 0, UINT64_MAX, "exited"),
    STRUCT(guest_frame, limits, 0, session_limits, "fork"),
    BOOL(guest_frame, awaited, 0, "fork: a session waits, so no warm-up"),
};
const struct schema schema_guest_frame = {
    SCHEMA(guest_frame, "Between warden and guest."),
    .versioned = true,
    .max_bytes = MAX_FRAME_BYTES,
};

bool frame_length(struct view bytes, size_t max, size_t *total, struct err *err)
{
    size_t body = 0;

    *total = 0;
    if (bytes.len < FRAME_HEADER_BYTES)
        return true; /* *total is 0: read on */
    for (size_t i = 0; i < FRAME_HEADER_BYTES; i++)
        body = body << 8 | (unsigned char)bytes.data[i];
    if (body == 0 || body > max)
        return err_set(err, ERR_REJECT, "bad_message",
                       "a frame of %zu bytes, must be 1 to %zu", body, max);
    *total = FRAME_HEADER_BYTES + body;
    return true;
}

bool frame_encode(const struct schema *schema, const void *message,
                  struct buf *out, struct err *err)
{
    /* Zeros, until the length of the body is known. */
    static const char header[FRAME_HEADER_BYTES];
    size_t start = out->len;
    size_t body;

    buf_append(out, header, sizeof(header));
    if (!message_encode(schema, message, out, err)) {
        buf_truncate(out, start);
        return false;
    }
    body = out->len - start - FRAME_HEADER_BYTES;
    for (size_t i = FRAME_HEADER_BYTES; i-- > 0; body >>= 8)
        out->data[start + i] = (char)(body & 0xff);
    return true;
}
