/* recording.h - a job as it ran, in a file that stands alone.
 *
 * JSON, a line each: what it is, the job, the records of its journal in order,
 * and its result when it has ended. Bytes that are not UTF-8 as in convert.h.
 *
 *   {"recording": {"v": 1, "by": "quern 0.1.0", "job": "019aa5c8-..."}}
 *   {"job": {"id": "...", "prompt": "...", ...}}
 *   {"record": {"kind": "model_intent", "turn": 1, ...}}
 *   {"blob": {"name": "9f86d081...", "base64": "..."}}
 *   {"result": {"status": "completed", ...}}
 *
 * A job that cannot be read, or has members that no version knows, has its
 * bytes instead: {"body": {"base64": "..."}}.
 * Of blobs it has those that requests were made of, as far as they are still
 * there: pictures that the model was shown, what was said in the session. */
#ifndef SCHEMAS_JSON_RECORDING_H
#define SCHEMAS_JSON_RECORDING_H

#include "schemas/message/field.h"

enum {
    MAX_RECORDING_BYTES = 256 << 20,
    MAX_RECORDED_BLOBS = 256,
    MAX_RECORDED_BLOB_BYTES = 32 << 20, /* all of them, also when it is read */
};

struct recorded_blob {
    struct view name, bytes;
};

/* Each as Redis holds it. */
struct recording {
    struct view id; /* under which it was submitted */
    struct view body;
    struct list records; /* of struct view */
    struct list blobs;   /* of struct recorded_blob */
    struct view result;  /* empty: it has not ended, or has expired */
};

/* Appends to out. Errors: bad_message and what message_decode() says, by the
 * record; too_large. */
bool recording_write(const struct recording *recording, struct buf *out,
                     struct err *err);

/* Empty: it is not there. */
struct view recording_blob(const struct recording *recording, struct view name);

/* Into the arena. Error: as above, by the line; also blobs that are not what
 * their names say. */
bool recording_read(struct recording *recording, struct view text,
                    struct arena *arena, struct err *err);

#endif
