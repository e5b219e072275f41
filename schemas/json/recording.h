/* recording.h - a job as it ran, in a file that stands alone.
 *
 * JSON, a line each: what it is, the job, the records of its journal in order,
 * and its result when it has ended. Bytes that are not UTF-8 as in convert.h.
 *
 *   {"recording": {"v": 1, "by": "quern 0.1.0", "job": "019aa5c8-..."}}
 *   {"job": {"id": "...", "prompt": "...", ...}}
 *   {"record": {"kind": "model_intent", "turn": 1, ...}}
 *   {"result": {"status": "completed", ...}}
 *
 * A job that cannot be read has its bytes instead: {"body": {"base64": "..."}}.
 * Blobs are not in it: a replay has no use for them. */
#ifndef SCHEMAS_JSON_RECORDING_H
#define SCHEMAS_JSON_RECORDING_H

#include "schemas/message/field.h"

enum { MAX_RECORDING_BYTES = 256 << 20 };

/* Each as Redis holds it. */
struct recording {
    struct view id; /* under which it was submitted */
    struct view body;
    struct list records; /* of struct view */
    struct view result;  /* empty: it has not ended, or has expired */
};

/* Appends to out. Errors: bad_message and what message_decode() says, by the
 * record; too_large. */
bool recording_write(const struct recording *recording, struct buf *out,
                     struct err *err);

/* Into the arena. Error: as above, by the line. */
bool recording_read(struct recording *recording, struct view text,
                    struct arena *arena, struct err *err);

#endif
