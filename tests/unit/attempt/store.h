/* store.h - what the function library of Redis promises, for one job.
 *
 * schemas/FUNCTIONS.md and schemas/redis/library/ are what it stands for: each
 * step is fenced by the epoch, is all or nothing, and may be sent again. */
#ifndef TESTS_UNIT_ATTEMPT_STORE_H
#define TESTS_UNIT_ATTEMPT_STORE_H

#include <hiredis/hiredis.h>

#include "schemas/message/buf.h"
#include "schemas/message/job.h"
#include "tests/unit/attempt/world.h"

enum { MOST_RECORDS = 400, MOST_EVENTS = 4000, MOST_BLOBS = 64 };

struct published { /* an event */
    char type[32];
    uint64_t attempt;
    struct buf data;
};

struct facts_of_job {
    char id[40];
    struct buf body;
    char tenant[16], session[16];
    int state;                                              /* enum job_state */
    uint64_t epoch, attempts, errors, crashes, seq, number; /* number: told */
    bool cancel;
    int owner;         /* host; -1: nobody */
    uint64_t lease_ms; /* until then */
    uint64_t wake_ms;  /* WAITING: it goes on then */
    char reason[16], call[160], fallback[8];
    uint64_t submitted_ms, deadline_ms;
    uint64_t reserved; /* tokens that are held */
    bool holds;
    uint64_t spent; /* tokens, as settled */
    size_t bars;    /* reservations that the tenant's budget refuses */
    uint64_t bar_ms;

    struct buf records[MOST_RECORDS];
    size_t record_count;
    struct published events[MOST_EVENTS];
    size_t event_count;
    uint64_t event_hash; /* of the last numbered write */
    struct buf result;
    size_t ends;
    uint64_t ended_ms, cancelled_ms; /* when it was asked for */

    /* Of its session, if it has a name. */
    struct buf session_record;
    uint64_t generation;
    bool session_saved; /* by this job */
    bool aborted;       /* by a person */
    bool full;          /* Redis takes no writes */
};
extern struct facts_of_job facts;

void store_reset(void);
void store_blob(const char *name, struct view bytes);

/* What host asks for; the answer is the caller's: freeReplyObject(). */
redisReply *store_call(int host, int argc, const char **argv,
                       const size_t *lengths);

/* Steps of others. */
redisReply *store_take(int host, uint64_t lease_ms); /* NULL: not now */
void store_lapse(void);
void store_promote(void);
void store_late(void);   /* the deadline of one that nobody runs */
bool store_cancel(void); /* true: its consumer is to be asked */
void store_approve(int verdict, const char *text);

bool store_is_over(void);

#endif
