/* attempt.h - one consumer's work on one job, from its start to its end.
 *
 *   LOADING --> WORKING --> SAVING --> FINISHING --> ENDED
 *      |           |
 *      |           |------> PARKING ---------------> ENDED   it waits in its
 *      |           |                                         queue
 *      '-----------'------> RELEASING -------------> ENDED   others go on
 *
 *   any --> SAVING (fault, cancel, deadline)   any --> ENDED (lease lost)
 *
 * LOADING reads the job and its journal. WORKING holds one activity at a time
 * (activity/activity.h); when that is over, the attempt decides the next step
 * from the conversation alone. So an attempt that starts with a journal is no
 * special case: all that the last attempt wrote is in the conversation.
 *
 * From SAVING on the end of the job is decided: the attempt seals the journal
 * and saves the session that outlives the job, so that the next job finds it.
 * FINISHING writes the result.
 *
 * A caller stops an attempt with attempt_stop(). An activity that must write
 * something first (for instance that a request came to nothing, so that nobody
 * pays for it twice) may do so; then the attempt goes where the stop leads.
 *
 * A callback stores the answer and runs the attempt. */
#ifndef CONSUMER_JOB_ATTEMPT_H
#define CONSUMER_JOB_ATTEMPT_H

#include "consumer/consumer.h"
#include "consumer/conversation/decide.h"
#include "consumer/job/facts.h"
#include "consumer/job/journal.h"
#include "consumer/output/progress.h"
#include "consumer/output/result.h"
#include "consumer/python/session.h"
#include "consumer/queue/partition.h"
#include "schemas/message/history.h"
#include "schemas/message/machine.h"

enum attempt_state {
    LOADING,
    WORKING,
    SAVING, /* from here on it is decided how the job ends */
    FINISHING,
    RELEASING,
    PARKING,
    ENDED,
    ATTEMPT_STATES,
};

/* Why an attempt must stop what it does, the stronger the later. */
enum stop_reason {
    STOP_NONE,
    STOP_RELEASE,  /* hand the job back */
    STOP_DEADLINE, /* of the job */
    STOP_CANCEL,
    STOP_FAULT, /* attempt->fault */
    STOP_LOST,  /* somebody else has the job: not one write more */
};

/* What the start has told, and what follows from it. */
struct origin {
    char id[ID_LEN + 1];
    uint64_t epoch;
    uint64_t number; /* of the attempt */
    uint64_t queued_ms;
    uint64_t age_ms;      /* of the job when it started, by Redis's clock */
    uint64_t started_ms;  /* the loop's clock */
    uint64_t deadline_ms; /* the loop's clock; 0: none */
    bool has_no_deadline; /* it is not the job's own: waiting outside is free */
    struct facts facts;   /* the job is held against these */
    struct buf body;
    struct buf *records; /* of the journal it began with */
    size_t record_count;
};

/* What the job may use. */
struct job_tools {
    struct toolset *toolset; /* as it was when the attempt began */
    json_t *array;           /* for the model; NULL in CodeAct mode */
    struct buf functions;    /* ... which is told of them so */
    struct buf code;         /* what code may call, as JSON */
};

/* What was said in the session before this job. */
struct session_history {
    bool brought;
    struct arena arena;
    struct history history;
    char blob[65]; /* of what is said with this job */
};

/* See wait.h. */
struct job_retries {
    uint64_t tries; /* in a row; those of the attempts before it, too */
    uint64_t wait_ms;
    struct view reason; /* retry: who failed has asked for it; backoff, budget,
                           endpoint */
};

/* A person is asked: PARKING waits for the answer. */
struct approval_wait {
    const struct call *call; /* NULL: nobody is asked */
    struct buf data;         /* of the event */
};

struct attempt {
    struct consumer *consumer;
    const struct partition *partition;
    size_t slot;
    uint64_t serial; /* never used twice */

    struct machine machine; /* enum attempt_state */
    struct alarm *alarm;    /* the state's limit, or the job's deadline */
    enum stop_reason stop;
    struct err fault;

    struct origin origin;
    struct store store;
    struct progress progress;
    struct journal journal;
    struct arena arena; /* of the job */
    struct job job;
    bool known; /* the job could be read: job and conversation are there */
    struct conversation conversation;
    size_t files_checked;
    struct job_tools tools;

    struct model_endpoint *endpoint; /* that is asked next */
    bool blind;                      /* it did not take pictures */
    bool squeezed; /* the request of this turn was too long once */

    struct python_session *session; /* NULL: the job could not be read */
    struct session_history history;
    struct job_retries retries;
    struct activity
        *activity; /* WORKING: the activity; NULL: it is to be decided */
    struct approval_wait approval;
    uint64_t void_bytes; /* see output.h */
    uint64_t renewed_ms; /* when blobs were, since the start; 0: not yet */

    struct buf partial; /* what was streamed of a reply that has no end */
    struct ending ending;
    struct arena answer; /* of ending's lists */
    struct buf result;
};

/* Takes a place in consumer->slots, which must have one. Copies. */
void attempt_new(const struct partition *partition,
                 const struct take_reply *start);

/* At any time; the machine acts on it from the loop or at once. */
void attempt_stop(struct attempt *attempt, enum stop_reason stop);

/* Of its activity, while there is one. */
const char *attempt_state_name(const struct attempt *attempt);
struct job_lease attempt_lease(const struct attempt *attempt);
uint64_t attempt_now_ms(const struct attempt *attempt); /* the loop's clock */

/* ------------------------------------------------- for job/ and activity/ only
 */

/* Something has come. */
void attempt_run(struct attempt *attempt);
/* ... that its own state has asked for, not an activity. */
void attempt_land(struct attempt *attempt);
/* The job has come to its end: nothing is left to do. Always AGAIN. */
enum pace attempt_complete(struct attempt *attempt);
/* Ends the job with that error; one that says that the job is somebody else's
 * ends the attempt alone. Always AGAIN. */
enum pace attempt_fail(struct attempt *attempt, const struct err *why);
/* Back into the queue; no attempt is charged, the job is not to blame. */
enum pace attempt_hand_back(struct attempt *attempt, const struct err *why);
/* The job waits for an executor, and this host's is away: others may have one.
 */
bool attempt_is_deserted(const struct attempt *attempt, const struct err *why);
/* A state has taken longer than it may. redis: it waited for Redis alone. */
void attempt_overdue(struct attempt *attempt, const char *state,
                     uint64_t limit_ms, bool redis);

/* What else its next step depends on, see decide.h. */
struct terms attempt_terms(const struct attempt *attempt);
/* What the job may use of it is for its tools to say. */
const struct catalog *attempt_catalog(const struct attempt *attempt);
bool attempt_sees(const struct attempt *attempt); /* its model, pictures */

/* The blobs of the job's cells live for ttl_ms from now at least. Called before
 * each step, before the job leaves this consumer, and before its end. */
void attempt_renew_blobs(struct attempt *attempt, uint64_t ttl_ms);
/* The time to live to give to a blob that must live for ttl_ms, although most
 * renewals are left out. */
uint64_t attempt_blob_ms(const struct attempt *attempt, uint64_t ttl_ms);

/* For writes that only matter when they are refused. */
store_done attempt_written;

/* load.c: attempt_begin() keeps what the start has told. */
void attempt_begin(struct attempt *attempt, const struct take_reply *start);
void origin_finish(struct origin *origin);
void job_tools_finish(struct job_tools *tools);
machine_step step_loading, step_loading_files;
/* finish.c */
machine_step enter_saving, step_saved, enter_finishing, step_finished,
    enter_releasing, step_released, enter_parking, step_parked;

#endif
