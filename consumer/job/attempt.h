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
 * A callback stores the answer and runs the attempt: attempt_run(), or
 * attempt_land() when the attempt's own state has asked for it. That may end
 * the attempt and free it, so it is the last thing that a callback does with
 * it.
 *
 * The queue makes an attempt for each job that it takes (jobs.on_started). The
 * attempt frees itself when it has come to ENDED, and gives its slot back. */
#ifndef CONSUMER_JOB_ATTEMPT_H
#define CONSUMER_JOB_ATTEMPT_H

#include "consumer/consumer.h"
#include "consumer/conversation/decide.h"
#include "consumer/job/journal.h"
#include "consumer/job/spans.h"
#include "consumer/output/progress.h"
#include "consumer/output/result.h"
#include "consumer/python/session.h"
#include "consumer/queue/jobs.h"
#include "consumer/queue/partition.h"
#include "schemas/message/history.h"
#include "schemas/message/machine.h"

/* The order counts, for code compares states: from SAVING on nothing is added
 * to the conversation, and from FINISHING on no stop but STOP_LOST has an
 * effect.
 */
enum attempt_state {
    LOADING,
    WORKING,
    SAVING,
    FINISHING,
    RELEASING,
    PARKING,
    ENDED,
    ATTEMPT_STATES,
};

/* Why an attempt must stop what it does. A later one overrides an earlier one,
 * never the other way round. */
enum stop_reason {
    STOP_NONE,
    STOP_RELEASE,  /* hand the job back: the consumer drains, or others can do
                      it better; the attempt does not count */
    STOP_DEADLINE, /* the job's deadline has passed: it fails */
    STOP_CANCEL,   /* the job ends as cancelled */
    STOP_FAULT,    /* the job fails with attempt->fault */
    STOP_LOST,     /* another consumer has the job, or the job is gone: the
                      attempt ends without one more write */
};

/* What Redis has of the job, in the words of the submit. */
struct facts {
    struct view queue, priority, tenant, session; /* session: empty: none */
    uint64_t deadline_ms;                         /* from the submit; 0: none */
    uint64_t now; /* when the job was started, ms since 1970, by Redis's
                     clock */
};

/* What the take has told of the job, and what follows from it. load.c fills it
 * once. */
struct origin {
    char id[ID_LEN + 1];
    char trace[TRACE_ID_LEN + 1]; /* the id of the job's trace; "": none */
    uint64_t epoch;      /* of this start: Redis refuses writes of older ones */
    uint64_t number;     /* of the attempt, from 1 */
    uint64_t queued_ms;  /* from the submit until this start */
    uint64_t age_ms;     /* of the job when it started, by Redis's clock */
    uint64_t started_ms; /* when that was, by the loop's clock */
    uint64_t deadline_ms; /* when the attempt must end, by the loop's clock */
    bool has_no_deadline; /* the job names none: deadline_ms is the setting's,
                             counted from each start anew, so the job may wait
                             in its queue beyond it */
    struct facts facts;   /* load.c compares them with the job */
    struct buf body;      /* as it was submitted; the texts of attempt->job are
                             views of it */
    struct buf *records;  /* of the journal that the attempt began with; NULL
                             once the conversation has them */
    size_t record_count;
    struct buf earlier; /* the conversation that the job goes on from, once it
                           has come, until attempt->conversation has it */
};

/* The tools that the job may use. */
struct job_tools {
    struct toolset *toolset; /* as it was when the attempt began, held: a reload
                                of the operator's files changes no attempt */
    json_t *array;           /* offered to the model; NULL in CodeAct mode, */
    struct buf functions;    /* ... where the instructions list these instead */
    struct buf code;         /* what code in a cell may call, as JSON */
};

/* What was said in the session before this job. */
struct session_history {
    bool brought;           /* it was read, or there is none to be read */
    struct arena arena;     /* of history */
    struct history history; /* the exchanges of earlier jobs */
    char blob[65]; /* with the exchange of this job; recall_add() writes
                      it */
};

/* What wait.h has decided last. */
struct job_retries {
    uint64_t tries;   /* failures in a row, those of earlier attempts included;
                         0 again after a reply or a cell, and with another
                         endpoint */
    uint64_t wait_ms; /* how long the job waits, here or in its queue */
    struct view reason; /* retry: the one that failed asks for that time;
                           backoff, budget, endpoint */
};

/* The question to a person that PARKING puts to Redis with the job. */
struct approval_wait {
    const struct call *call; /* of the conversation; NULL: nobody is asked */
    struct buf data;         /* of the event, encoded */
};

struct attempt {
    struct consumer *consumer; /* borrowed, as is the partition */
    const struct partition *partition;
    size_t slot;     /* its index in consumer->slots */
    uint64_t serial; /* of consumer->serials; no two attempts have the same */

    struct machine machine; /* enum attempt_state */
    struct alarm *alarm;    /* the state's limit, or the deadline if sooner */
    enum stop_reason stop;  /* only ever gets stronger */
    struct err fault;       /* with STOP_FAULT */

    struct origin origin;
    struct attempt_spans spans;
    struct store store; /* all writes of the attempt, in order */
    struct progress progress;
    struct journal journal;
    struct arena arena; /* of job's lists, and of origin.facts */
    struct job job;
    bool known; /* the job could be read: job and conversation are valid */
    struct conversation conversation;
    size_t files_checked; /* of job.files: so many answers came, see load.c */
    struct job_tools tools;

    struct model_endpoint *endpoint; /* that is asked next, held; NULL: the job
                                        is no conversation */
    bool blind;    /* a request was refused, or too long, with its pictures: no
                      other one of this attempt has any */
    bool squeezed; /* the request of this turn was too long once, and was made
                      shorter; not a second time */

    struct python_session *session; /* NULL: the job could not be read */
    struct session_history history;
    struct job_retries retries;
    struct activity *activity; /* in WORKING; NULL: the next one is to be
                                  decided */
    struct approval_wait approval;
    uint64_t items;   /* the highest number of an item that is in use, by
                         what is not in the journal as well, */
    bool items_known; /* ... once events of earlier attempts were looked at
                       */
    uint64_t functions_told; /* the item of the last function.called */
    uint64_t void_bytes;     /* see output.h */
    uint64_t renewed_ms; /* when blobs were renewed last, by the loop's clock;
                            0: not by this attempt */

    struct buf partial;        /* what people saw of a reply that broke off: the
                                  answer of a job that is stopped meanwhile */
    struct job_outcome ending; /* how the job ends; filled from SAVING on */
    struct arena answer;       /* of what ending points to */
    char kept[65];             /* the blob of the conversation */
    struct buf result;         /* encoded */
};

/* The functions of queue/jobs.h. main.c puts them into the consumer, so that
 * files of queue/ need not include job/. */
extern const struct jobs attempts;

/* Makes the attempt stop, unless a stronger reason is there already. The
 * machine is run at once, unless this is called from inside of it; so the
 * attempt may be gone when this returns. */
void attempt_stop(struct attempt *attempt, enum stop_reason stop);

/* The first argument of log_job_line(). */
#define ATTEMPT_LOG(attempt)                                                   \
    &(const struct log_job)                                                    \
    {                                                                          \
        (attempt)->origin.id, (attempt)->origin.trace,                         \
            (attempt)->origin.facts.queue, (attempt)->origin.facts.tenant,     \
            (attempt)->origin.facts.session                                    \
    }

/* Borrows the id of the attempt. */
struct job_lease attempt_lease(const struct attempt *attempt);
uint64_t attempt_now_ms(const struct attempt *attempt); /* the loop's clock */

/* ------------------------------------------------- for job/ and activity/ only
 */

/* Runs the machine, and frees the attempt when that has ended it, unless this
 * is called from inside of the machine. */
void attempt_run(struct attempt *attempt);
/* The same; what the attempt's own state (not an activity) asked for is there.
 */
void attempt_land(struct attempt *attempt);
/* The job ends as completed: goes to SAVING. Always AGAIN. */
enum pace attempt_complete(struct attempt *attempt);
/* The job fails with that error; but where the error says that another consumer
 * has the job, only the attempt ends. Takes effect before the next step of the
 * machine, which the caller runs or returns to. Always AGAIN. */
enum pace attempt_fail(struct attempt *attempt, const struct err *why);
/* The job goes back into its queue, and the attempt does not count: the job is
 * not to blame. Takes effect as attempt_fail(). */
enum pace attempt_hand_back(struct attempt *attempt, const struct err *why);
/* The error is that there is no executor, and the one of this host is away: a
 * consumer of another host may have one. */
bool attempt_is_deserted(const struct attempt *attempt, const struct err *why);
/* Stops the attempt: a state has taken longer than limit_ms. redis: all that it
 * waited for was Redis. */
void attempt_overdue(struct attempt *attempt, const char *state,
                     uint64_t limit_ms, bool redis);

/* What the next step depends on beside the conversation, see decide.h. Borrows
 * of the attempt and of the consumer; changes with the endpoint, so it is made
 * anew where it is needed. */
struct terms attempt_terms(const struct attempt *attempt);
/* All tools by name; which of them the job may use, its own list says. */
const struct catalog *attempt_catalog(const struct attempt *attempt);
/* The endpoint that is asked next takes pictures. */
bool attempt_sees(const struct attempt *attempt);
/* A number for an item that begins now: see schemas/message/item.h. */
uint64_t attempt_new_item(struct attempt *attempt);
/* The number of the item that a call by the model is, a new one if it has none
 * yet; 0: it is none. */
uint64_t attempt_call_item(struct attempt *attempt, const struct call *call);
/* Writes function.called for each function of the caller that the last reply
 * calls and that has a higher number than told. */
void attempt_tell_functions(struct attempt *attempt, uint64_t told);
/* What every event of a call tells: the turn, our id of the call, and its tool.
 * Borrows id and tool. */
struct event_data attempt_call_event(const struct attempt *attempt,
                                     struct view id, struct view tool);

/* The blobs of the job's cells live for ttl_ms from now at least. Called before
 * each step, before the job leaves this consumer, and before its end. */
void attempt_renew_blobs(struct attempt *attempt, uint64_t ttl_ms);
/* The time to live to give to a blob that must live for ttl_ms, although most
 * renewals are left out. */
uint64_t attempt_blob_ms(const struct attempt *attempt, uint64_t ttl_ms);

/* The callback of writes that only matter when they are refused: then it stops
 * the attempt, whose address the owner is. */
store_done attempt_written;

/* load.c: attempt_begin() keeps what the take has told, and logs the start. */
void attempt_begin(struct attempt *attempt, const struct take_reply *start);
/* Of a time since the job's submit: what of it came after its not_before. */
uint64_t attempt_due_ms(const struct attempt *attempt, uint64_t since_submit);
void origin_finish(struct origin *origin);
void job_tools_finish(struct job_tools *tools);
machine_step step_loading, step_loaded;
/* finish.c */
machine_step enter_saving, step_saved, enter_finishing, step_finished,
    enter_releasing, step_released, enter_parking, step_parked;

#endif
