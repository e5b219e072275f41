/* handle.h - what the files of the client share.
 *
 * Inside, errors are struct err and bytes are views; quern.h's own types are
 * made at its functions, so no library's type shows in it. */
#ifndef PRODUCER_CLIENT_HANDLE_H
#define PRODUCER_CLIENT_HANDLE_H

#include "producer/client/quern.h"
#include "schemas/message/id.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/durability.h"
#include "schemas/redis/names.h"

enum {
    DEFAULT_TIMEOUT_MS = 10000,
    FIRST_BACKOFF_MS = 50, /* doubled up to the last */
    LAST_BACKOFF_MS = 1000,
};

/* The servers that hold the jobs; shared by the copies of a handle. */
struct fleet_conns {
    struct address address;
    struct names names;
    char *role;
    /* By partition; without a cluster the first one serves all of them. */
    struct conn *conns[NAMES_MAX_PARTITIONS];
    bool proven[NAMES_MAX_PARTITIONS]; /* that server can tell of durability */
    enum many_support {
        MANY_UNKNOWN,
        MANY_NO,
        MANY_YES,
    } many[NAMES_MAX_PARTITIONS]; /* that server takes many jobs in a call */
    struct durability durability;
    unsigned int partitions; /* 0: not known */
    uint64_t ask_at;         /* not before */
    unsigned int latest;     /* partition that was called for */
    bool met;                /* Redis has answered before */
};

struct quern {
    struct fleet_conns *fleet;
    uint64_t timeout_ms;
};

uint64_t clock_ms(void);           /* monotonic */
uint64_t clock_after(uint64_t ms); /* from now; UINT64_MAX: never */
void sleep_ms(uint64_t ms);

/* Where everything of that tenant is; empty: of "default". */
bool handle_partition(struct quern *quern, struct view tenant,
                      unsigned int *partition, struct err *err);
/* How many there are. */
bool handle_partitions(struct quern *quern, unsigned int *count,
                       struct err *err);

/* conn_call() to the server of that partition, that outlasts a lost connection,
 * once there was one: for commands that may be sent again. Loads the function
 * library when the server lacks it. */
redisReply *handle_call(struct quern *quern, unsigned int partition,
                        const struct command *command, struct err *err);
/* The same, to where what all of the fleet share is. */
redisReply *handle_call_fleet(struct quern *quern,
                              const struct command *command, struct err *err);
/* The same, to where that job is. */
redisReply *handle_call_job(struct quern *quern, struct view id,
                            const struct command *command, struct err *err);

/* For what changes something: answered when it is as durable as the handle
 * asks. Errors: not_durable (it stands, but is not safe), unknown_outcome (it
 * was sent, and not answered), bad_setting (nothing was sent: that server
 * cannot do what the handle asks). The first two name the job. */
redisReply *handle_write(struct quern *quern, unsigned int partition,
                         const struct command *command, struct err *err);
redisReply *handle_write_job(struct quern *quern, struct view id,
                             const struct command *command, struct err *err);

/* The same of many things at once, several of them in a call. */
struct pipeline {
    /* Fills the command of the next call, which may borrow until the one after
     * it, and the partition that it is for; *count: how many things, from index
     * on, are dealt with then. Again when it has to be sent again, maybe for
     * fewer or more of them. False: these need no call. */
    bool (*ask)(void *owner, size_t index, struct command *command,
                unsigned int *partition, size_t *count);
    /* In the order of the calls; reply: borrowed, may be a refusal. */
    void (*answer)(void *owner, size_t index, size_t count,
                   const redisReply *reply);
    void *owner;
    size_t count;
};
/* pipeline.c: as handle_write(), each answer within the handle's timeout.
 * False: things from *done on have no answer, or are not safe; err says why;
 * what was sent of them may have been done. */
bool handle_pipeline(struct quern *quern, const struct pipeline *pipeline,
                     size_t *done, struct err *err);

/* handle.c: whether the server of that partition takes many jobs in a call: its
 * library may be older than that step, or its rules, or it is away. It is asked
 * when that is not known, which must not be while it owes an answer. */
bool handle_takes_many(struct quern *quern, unsigned int partition);
/* Those that did not are asked again. */
void handle_ask_many_again(struct quern *quern);
/* The library is not what it was; whether that server took many. */
bool handle_doubt_many(struct quern *quern, unsigned int partition);

/* To the server of that partition, for handle_pipeline(); NULL: it cannot be
 * written to. */
struct conn *handle_writer(struct quern *quern, unsigned int partition,
                           struct err *err);
/* What was written to it is as durable as the handle asks: see handle_write().
 */
bool handle_secure(struct quern *quern, unsigned int partition,
                   struct err *err);
bool handle_load_library(struct conn *conn, uint64_t timeout_ms,
                         struct err *err);
/* What the same call may not meet again: Redis is away. */
bool handle_may_pass(const struct err *fault);

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
/* Name and size, before anything is uploaded. */
bool blob_check_file(const struct quern_file *file, struct err *err);
/* Whether these are the bytes that the SHA-256 stands for. */
bool blob_is_sound(struct view sha256, struct view bytes);
bool blob_upload_file(struct quern *quern, struct view tenant,
                      const struct quern_file *file, struct file_ref *ref,
                      struct sha256 *hash, struct err *err);

/* The bytes of an event, of one entry of XRANGE or XREAD; empty when it is
 * none. */
struct view entry_event(const redisReply *entry);

/* What the job's hash says, with or without the result. */
bool status_read(struct quern *quern, struct view id, bool with_result,
                 struct quern_status *status, struct err *err);

#endif
