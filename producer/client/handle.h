/* handle.h - what the files of libquern share: the handle, calls of Redis
 * through it, many calls at once, blobs.
 *
 * Inside the library errors are struct err and bytes are views. The functions
 * of quern.h turn these into its own types, so no type of hiredis, jansson or
 * schemas/ shows in the public header. A redisReply that a function here gives
 * is the caller's: freeReplyObject() it, or CLEANUP(cleanup_reply). */
#ifndef PRODUCER_CLIENT_HANDLE_H
#define PRODUCER_CLIENT_HANDLE_H

#include "producer/client/quern.h"
#include "schemas/message/id.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/durability.h"
#include "schemas/redis/names.h"

enum {
    DEFAULT_TIMEOUT_MS = 10000,
    FIRST_BACKOFF_MS = 50, /* before a second try; doubled for each further
                              one, up to the last */
    LAST_BACKOFF_MS = 1000,
};

/* The servers that hold the jobs, and what is known of them. quern_open() makes
 * it, quern_close() frees it. Copies of a struct quern share it: they differ in
 * their timeout alone, and must not outlive the handle. */
struct fleet_conns {
    struct address address;
    struct names names;
    char *role; /* in CLIENT LIST */
    /* By partition; without a cluster the first one serves all of them. NULL:
     * nothing was asked there yet. The same index serves proven and many. */
    struct conn *conns[NAMES_MAX_PARTITIONS];
    bool proven[NAMES_MAX_PARTITIONS]; /* that server can say how durable a
                                          write is: asked once, before the first
                                          write */
    bool fleet_proven; /* likewise of the keys that all partitions share */
    enum many_support {
        MANY_UNKNOWN,
        MANY_NO,
        MANY_YES,
    } many[NAMES_MAX_PARTITIONS]; /* that server takes many jobs in a call */
    struct durability durability;
    unsigned int partitions; /* 0: not known, or no consumer has set it yet */
    uint64_t ask_at;         /* partitions 0: not asked for again before, by
                                clock_ms() */
    unsigned int latest; /* partition that was called last: where a blob that
                            the result named is looked for first */
    bool met; /* some server has answered: from now on a lost connection is
                 waited for */
};

struct quern {
    struct fleet_conns *fleet;
    uint64_t timeout_ms; /* of one call, with reconnecting and trying again */
};

uint64_t clock_ms(void);           /* monotonic */
uint64_t clock_after(uint64_t ms); /* from now; UINT64_MAX: never */
void sleep_ms(uint64_t ms);

/* The partition that has everything of that tenant; empty: of "default". Asks
 * Redis how many partitions there are, the first time. */
bool handle_partition(struct quern *quern, struct view tenant,
                      unsigned int *partition, struct err *err);
/* How many partitions the fleet has; 1 before its first consumer has set the
 * number, which is then asked for again, at most once a second. */
bool handle_partitions(struct quern *quern, unsigned int *count,
                       struct err *err);

/* Sends the command to the server of that partition and waits for the reply.
 * Tries again while Redis is away, until the handle's timeout, once Redis has
 * answered before: so only for commands that may be sent twice. Loads the
 * function library when the server lacks it. NULL: err says why; error replies
 * become err as well. */
redisReply *handle_call(struct quern *quern, unsigned int partition,
                        const struct command *command, struct err *err);
/* The same, to the server of the keys that all partitions share. They have a
 * slot of their own; the connection is made for this call and closed. */
redisReply *handle_call_fleet(struct quern *quern,
                              const struct command *command, struct err *err);
/* The same, to the partition that the job's id names. */
redisReply *handle_call_job(struct quern *quern, struct view id,
                            const struct command *command, struct err *err);

/* For commands that change something: returns when the change is as durable as
 * the handle asks. Errors: not_durable (the change stands, but fewer copies
 * have it), unknown_outcome (it was sent, and not answered: it may stand or
 * not), bad_setting (nothing was sent: that server cannot say what the handle
 * asks). handle_write_job() names the job in the sentence of the first two. */
redisReply *handle_write(struct quern *quern, unsigned int partition,
                         const struct command *command, struct err *err);
redisReply *handle_write_job(struct quern *quern, struct view id,
                             const struct command *command, struct err *err);
/* The same, to the server of the keys that all partitions share. */
redisReply *handle_write_fleet(struct quern *quern,
                               const struct command *command, struct err *err);

/* Many things to be written (jobs), several of them in a call, and calls that
 * do not wait for the answer to the one before. The caller's; handle_pipeline()
 * calls both functions before it returns, and never afterwards. */
struct pipeline {
    /* Fills the command of the next call, which may borrow until ask() is
     * called again, and the partition that it is for; *count: how many things,
     * from index on, this call deals with. Called again for the same index when
     * the call has to be sent again: it may then take fewer or more things.
     * False: these *count things need no call, and command is not filled. */
    bool (*ask)(void *owner, size_t index, struct command *command,
                unsigned int *partition, size_t *count);
    /* In the order of the calls; reply: borrowed, may be an error reply. May
     * come twice for one thing, when its first answer was not safe. */
    void (*answer)(void *owner, size_t index, size_t count,
                   const redisReply *reply);
    void *owner;
    size_t count; /* things in all */
};
/* pipeline.c: as handle_write(), each answer within the handle's timeout.
 * False: things from *done on have no answer, or one that may be lost with its
 * server; err says why. What was sent of them may have been done. */
bool handle_pipeline(struct quern *quern, const struct pipeline *pipeline,
                     size_t *done, struct err *err);

/* handle.c: whether the server of that partition takes many jobs in a call. Not
 * when its function library or its ACL rules are older than that function, or
 * it is away. Asks the server when that is not known; so no answer may be
 * outstanding on its connection then, or it would be taken for this one's. */
bool handle_takes_many(struct quern *quern, unsigned int partition);
/* Forgets which servers did not take many: they may have been upgraded. */
void handle_ask_many_again(struct quern *quern);
/* The server's library is not what it was: forgets that it took many. False:
 * that was not known of it anyway, and the library has to be loaded. */
bool handle_doubt_many(struct quern *quern, unsigned int partition);

/* The connection to the server of that partition, for handle_pipeline(); it
 * stays the handle's. NULL: no server answers, or this one cannot give the
 * durability that is asked for; nothing was written. */
struct conn *handle_writer(struct quern *quern, unsigned int partition,
                           struct err *err);
/* Waits until all that was written to that server is as durable as the handle
 * asks; true at once when it asks for nothing. Errors as of handle_write(). */
bool handle_secure(struct quern *quern, unsigned int partition,
                   struct err *err);
bool handle_load_library(struct conn *conn, uint64_t timeout_ms,
                         struct err *err);
/* Whether the fault may pass by itself: Redis is away. All others come again
 * when the same call is made again. */
bool handle_may_pass(const struct err *fault);

/* Fills error (which may be NULL) from err; returns false. */
bool handle_fail(struct quern_error *error, const struct err *err);

/* A job id from outside: NULL and anything but a UUIDv7 are errors. */
bool handle_id(struct view *id, const char *text, struct err *err);

void cleanup_reply(redisReply **reply);

/* -------- blob.c */

struct sha256 {
    char text[65]; /* hexadecimal */
};
struct sha256 blob_sha256(struct view bytes);
/* Name and size, before anything is uploaded. A pipe's size is not known before
 * it has been read: blob_upload_file() checks it. */
bool blob_check_file(const struct quern_file *file, struct err *err);
/* Whether these are the bytes that the SHA-256 stands for. */
bool blob_is_sound(struct view sha256, struct view bytes);
/* Writes the file's bytes as a blob of the tenant's partition and fills *ref,
 * which borrows from the file and from *hash. */
bool blob_upload_file(struct quern *quern, struct view tenant,
                      const struct quern_file *file, struct file_ref *ref,
                      struct sha256 *hash, struct err *err);

/* The bytes of the event in one entry of XRANGE or XREAD, borrowed from it;
 * empty when the entry has another form. */
struct view entry_event(const redisReply *entry);

/* -------- status.c */

/* The command that asks for a job's facts, and the reading of its reply; errors
 * as of status_read(). */
void status_ask(struct command *command, const struct names *names,
                struct view id);
bool status_told(const redisReply *reply, struct view id,
                 struct quern_status *status, struct err *err);
/* Puts the result of a job that has ended into its status: the reply to GET. */
void status_take_result(struct quern_status *status, const redisReply *reply);

/* What the job's hash says, and with_result, when it has ended, its
 * result. Fills *status (quern_status_finish() frees it), unless the job is not
 * known or Redis gave no reply: then it stays as it was. */
bool status_read(struct quern *quern, struct view id, bool with_result,
                 struct quern_status *status, struct err *err);

#endif
