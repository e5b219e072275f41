/* handle.h - what the files of the client share.
 *
 * Inside, errors are struct err and bytes are views; quern.h's own types are
 * made at its functions, so no library's type shows in it. */
#ifndef PRODUCER_CLIENT_HANDLE_H
#define PRODUCER_CLIENT_HANDLE_H

#include "producer/client/quern.h"
#include "schemas/message/id.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/names.h"

enum {
    DEFAULT_TIMEOUT_MS = 10000,
    FIRST_BACKOFF_MS = 50, /* doubled up to the last */
    LAST_BACKOFF_MS = 1000,
};

struct quern {
    struct address address;
    struct names names;
    struct conn *conn;
    uint64_t timeout_ms;
    bool met; /* Redis has answered before */
};

uint64_t clock_ms(void);           /* monotonic */
uint64_t clock_after(uint64_t ms); /* from now; UINT64_MAX: never */
void sleep_ms(uint64_t ms);

/* conn_call() that outlasts a lost connection, once there was one: for commands
 * that may be sent again. Loads the function library when the server lacks it.
 */
redisReply *handle_call(struct quern *quern, const struct command *command,
                        struct err *err);

/* Fills error (which may be NULL) from err; returns false. */
bool handle_fail(struct quern_error *error, const struct err *err);

/* A job id from outside: NULL and anything but a UUIDv7 are errors. */
bool handle_id(struct view *id, const char *text, struct err *err);

void cleanup_reply(redisReply **reply);

/* Files of a job become blobs; refs (of the same count) borrow from the files
 * and from hashes. */
struct sha256 {
    char text[65];
};
bool blob_upload(struct quern *quern, struct view bytes, struct sha256 *hash,
                 struct err *err);
bool blob_upload_file(struct quern *quern, const struct quern_file *file,
                      struct file_ref *ref, struct sha256 *hash,
                      struct err *err);

/* The bytes of an event, of one entry of XRANGE or XREAD; empty when it is
 * none. */
struct view entry_event(const redisReply *entry);

/* What the job's hash says, with or without the result. */
bool status_read(struct quern *quern, struct view id, bool with_result,
                 struct quern_status *status, struct err *err);

#endif
