/* recording.h - a job as it ran, in a file that needs nothing else.
 *
 * A line of JSON each: what the file is, the job, the records of its journal in
 * order, blobs, and its result when it has ended. Bytes that are not UTF-8 are
 * written as in convert.h.
 *
 *   {"recording": {"v": 1, "by": "quern 0.1.0", "job": "019aa5c8-..."}}
 *   {"job": {"id": "...", "prompt": "...", ...}}
 *   {"record": {"kind": "model_intent", "turn": 1, ...}}
 *   {"blob": {"name": "9f86d081...", "base64": "..."}}
 *   {"result": {"status": "completed", ...}}
 *
 * In place of a job that cannot be read, or has unknown members, stand its
 * bytes: {"body": {"base64": "..."}}. The blobs are those that requests to the
 * model were made of, as far as they still exist: pictures, and the session's
 * conversation. */
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

/* All bytes are as Redis holds them. A recording owns nothing: written, it
 * borrows from the caller; read, from the arena. */
struct recording {
    struct view id; /* the id of its submit; that in body may be another */
    struct view body;
    struct list records; /* of struct view */
    struct list blobs;   /* of struct recorded_blob */
    struct view result;  /* empty: it has not ended, or has expired */
};

/* Appends to out. Errors: bad_message and what message_decode() says, by the
 * record; too_large. */
bool recording_write(const struct recording *recording, struct buf *out,
                     struct err *err);

/* The bytes of the blob with that SHA-256; empty: the recording has it not. */
struct view recording_blob(const struct recording *recording, struct view name);

/* Reads a file's text into the arena. Errors are prefixed with the line; a blob
 * whose bytes do not match its name is one, too. */
bool recording_read(struct recording *recording, struct view text,
                    struct arena *arena, struct err *err);

#endif
