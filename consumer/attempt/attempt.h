/* attempt.h - one consumer's work on one job, from its start to its end.
 *
 *   LOADING -> (CLAIMING -> RECALLING ->)
 *                          DECIDING ------> SAVING --> FINISHING -> ENDED
 *                           ^ | | ^
 *            .--------------' | | '------------------------------------.
 *            |      .---------' '------------.                         |
 *            |      v                        v                         |
 *            |   ASKING -> ANSWERING     PREPARING -> CALLING -> RUNNING
 *            |                |              |                      |  |
 *            '--- ANSWERED <--'              v                      v  |
 *                                        OBSERVED <-------- COLLECTING |
 *                                            '-------------------------'
 *   CLAIMING, ASKING, ANSWERING, PREPARING, RUNNING, ACTING <--> PAUSING, after
 * a failure that may pass
 *                                 --> PARKING --> ENDED, when that takes long;
 *   from ANSWERING by REFUSED; LOADING, while a tool is away, does so too, and
 *   DECIDING, when a person is to be asked
 *   ANSWERING, RETRIEVING --> REFUSED --> ASKING, for another request; REFUSED
 * first for what a reply has cost that is no use; ASKING
 * --> DECIDING, when a limit leaves room for none
 *   a request that stands in the journal, and was refused or never sent, when
 *   the attempt has to stop: ASKING, SHOWING, ANSWERING, PAUSING --> REFUSED
 *   a summary of what a request would leave out is asked for like a turn; when
 *   nothing comes of it ASKING writes so, and --> DECIDING
 *   a model that sees: ASKING, ANSWERING <--> SHOWING
 *   a reply that its endpoint keeps: DECIDING, ANSWERING -> RETRIEVING ->
 *   ANSWERED, or ASKING when there is none; <--> PAUSING while it is made
 *   tools other than Python: DECIDING <--> GATHERING, many at once
 *   kind session: DECIDING -> ACTING -> (FORKING ->) RECORDING -> SAVING
 *   any --> SAVING (fault, cancel, deadline)
 *   any --> RELEASING --> ENDED (drain)      any --> ENDED (lease lost)
 *
 * ASKING, ANSWERED, CALLING and OBSERVED write the journal: model_intent,
 * model_reply, tool_intent, tool_result; REFUSED that an intent came to
 * nothing, ASKING that none can be made any more, and DECIDING ends then.
 * CLAIMING waits for the turn in a session that outlives the job, RECALLING
 * brings what was said there. What is to be done next is DECIDING's alone, from
 * the conversation, so an attempt that starts with a journal is in no way
 * special. SAVING writes the session that outlives the job, when it has been
 * used or something was said: before the end, so that the next job finds it. A
 * callback records what came and runs the machine. */
#ifndef CONSUMER_ATTEMPT_H
#define CONSUMER_ATTEMPT_H

#include "consumer/attempt/ahead.h"
#include "consumer/attempt/facts.h"
#include "consumer/consumer.h"
#include "consumer/conversation/decide.h"
#include "consumer/job/journal.h"
#include "consumer/output/output.h"
#include "consumer/output/progress.h"
#include "consumer/output/result.h"
#include "consumer/queue/partition.h"
#include "consumer/queue/profile.h"
#include "consumer/session/session.h"
#include "schemas/message/history.h"
#include "schemas/redis/spend.h"

/* Of a wait for an endpoint: no reason to ask another one. */
enum { ATTEMPT_BRIEF_MS = 1000 };

enum attempt_state {
    LOADING,
    CLAIMING,
    RECALLING,
    DECIDING,
    SHOWING,
    ASKING,
    ANSWERING,
    RETRIEVING,
    ANSWERED,
    REFUSED,
    PAUSING,
    PREPARING,
    CALLING,
    RUNNING,
    COLLECTING,
    OBSERVED,
    GATHERING,
    ACTING,
    FORKING,
    RECORDING,
    SAVING, /* from here on it is decided how the job ends */
    FINISHING,
    RELEASING,
    PARKING,
    ENDED,
    ATTEMPT_STATES,
};

/* Why an attempt must stop what it does, the stronger the later. */
enum stop {
    STOP_NONE,
    STOP_RELEASE,  /* hand the job back */
    STOP_DEADLINE, /* of the job */
    STOP_CANCEL,
    STOP_FAULT, /* attempt->fault */
    STOP_LOST,  /* somebody else has the job: not one write more */
};

struct retrieving;

/* What was said in the session before this job. */
struct recollection {
    struct arena arena;
    struct history history;
    char blob[65]; /* of what is said with this job */
};

struct attempt {
    struct consumer *consumer;
    const struct partition *partition;
    size_t slot;
    uint64_t serial; /* never used twice */

    enum attempt_state state;
    bool begun, landed; /* in this state: asked for; come */
    bool busy, again;   /* attempt_run() inside attempt_run() */
    enum stop stop;
    struct err fault;
    struct alarm *alarm; /* the state's deadline */

    /* From start. */
    char id[ID_LEN + 1];
    uint64_t epoch;
    uint64_t number; /* of the attempt */
    uint64_t queued_ms;
    uint64_t age_ms;      /* of the job when it started, by Redis's clock */
    uint64_t started_ms;  /* the loop's clock */
    uint64_t renewed_ms;  /* when blobs were, since the start; 0: not yet */
    uint64_t deadline_ms; /* the loop's clock; 0: none */
    bool is_patient;      /* it is not the job's own: waiting outside is free */
    struct facts facts;   /* the job is held against these */
    struct buf body;
    struct buf *records; /* of the journal it began with */
    size_t record_count;

    struct store store;
    struct journal journal;
    struct progress progress;
    struct arena arena; /* of the job */
    struct job job;
    struct conversation conversation;
    bool known; /* the job could be read: job and conversation are there */
    size_t files_checked;

    struct model_endpoint *endpoint;
    struct toolset *toolset; /* as it was when the attempt began */
    json_t *tools;
    struct model_call *call;
    struct decided decided; /* what it asks, and what that may take */
    struct spend spent;     /* what it took */
    /* By the tenant's budget: why, and for how long; 0: for good. */
    bool barred;
    struct err bar;
    uint64_t bar_ms;
    bool booking; /* REFUSED: the failure has to be paid for, and is judged then
                   */
    bool squeezing, squeezed; /* the request was too long: now; in this turn */
    bool was_summary; /* what was asked for last; and a reply that has one */
    bool has_summary;
    bool forgoing; /* no summary is asked for any more: failure says why */
    struct shown *shown;         /* pictures of the request that is made */
    enum attempt_state shown_in; /* where SHOWING goes back to */
    bool blind;                  /* the endpoint did not take pictures */
    char hash[65];               /* of the request that the last intent names */
    bool twice; /* the one before may have been answered, and charged, too */
    bool asks_endpoint;            /* its breaker waits for what comes of it */
    struct model_failure failure;  /* of the call; ERR_NONE: a reply came */
    struct retrieving *retrieving; /* its reply is kept; NULL: not known so */
    struct buf said;               /* its text, for the event */
    struct buf partial; /* what was streamed of a reply that has no end */
    struct ahead ahead; /* of its end */
    uint64_t asked_ms;
    uint64_t tries; /* in a row; those of the attempts before it, too */
    uint64_t wait_ms;
    struct view wait_reason;   /* retry: who failed has asked for it; backoff,
                                  budget, endpoint */
    enum attempt_state resume; /* where PAUSING goes back to */

    struct session session;
    struct recollection recollection;
    struct output output;
    bool sent_before;     /* the call, by an attempt before this one */
    struct use *uses;     /* of tools, going on */
    struct buf offered;   /* what code may call, as JSON */
    struct buf functions; /* ... as CodeAct mode tells a model */
    struct buf code;      /* of the call that runs */
    struct buf record;    /* on its way into the journal, */
    bool writing;         /* and not heard of yet */
    struct ending ending;
    struct buf result;

    const struct call *asked_about; /* PARKING waits for a person */
    struct buf question;            /* ... and tells of it so */

    struct known fork;   /* what is known of the session that is forked to */
    struct arena answer; /* of ending's lists */
};

/* Takes a place in consumer->slots, which must have one. Copies. */
void attempt_new(const struct partition *partition,
                 const struct started *started);

/* At any time; the machine acts on it from the loop or at once. */
void attempt_stop(struct attempt *attempt, enum stop stop);

const char *attempt_state_name(const struct attempt *attempt);

/* ------------------------------- for the files that hold the steps only */

enum turn { AGAIN, WAIT };
typedef enum turn attempt_step(struct attempt *attempt);

/* attempt.c: the session's part of a state. True once the wish is fulfilled;
 * else *turn is what the state does: it waits, or tries again after a fault. */
bool attempt_wishes(struct attempt *attempt, const struct wish *wish,
                    enum turn *turn);
/* recall.c: what was said in the session. */
attempt_step step_claiming, step_recalling;
bool attempt_recalls(const struct attempt *attempt);
/* What is to be the session's when the job has ended, for the record; no blob:
 * as it is. */
struct said attempt_say(struct attempt *attempt);
/* show.c: pictures, for a model that sees. SHOWING brings them for the state
 * then, when attempt_has_to_show(). */
attempt_step step_showing;
bool attempt_sees(const struct attempt *attempt); /* its model, pictures */
bool attempt_has_to_show(const struct attempt *attempt);
enum turn attempt_show(struct attempt *attempt, enum attempt_state then);
/* What a request is made of, beside the conversation. */
struct beside attempt_beside(const struct attempt *attempt, enum ask_kind kind);
/* Blobs of the pictures that were there. */
struct list attempt_shown(const struct attempt *attempt,
                          struct view blobs[MAX_SHOWN]);
void attempt_drop_pictures(struct attempt *attempt);
/* turn.c: the model's side. */
attempt_step step_asking, step_answering, step_answered, step_refused,
    step_pausing;
/* Of a reply that came, or could be fetched: composes its record. */
void attempt_take_reply(struct attempt *attempt,
                        const struct model_reply *reply);
/* What an answer says of the endpoint; failure: NULL, it is well. */
void attempt_tell_endpoint(struct attempt *attempt,
                           const struct model_failure *failure);
/* For the fleet. */
void attempt_count(struct attempt *attempt, enum endpoint_count what);
enum turn attempt_await_endpoint(struct attempt *attempt, uint64_t wait_ms,
                                 enum attempt_state resume);
/* attempt->failure is what has come of the request. */
enum turn attempt_judge_failure(struct attempt *attempt);
/* What is asked for is a summary: nobody is to hear it as an answer. */
bool attempt_summarises(const struct attempt *attempt);
/* In ASKING: the tenant's budget will never pay for it. */
enum turn attempt_forgo_summary(struct attempt *attempt, const struct err *why);
/* tool.c: the executor's side. */
attempt_step step_preparing, step_calling, step_running, step_collecting,
    step_observed;
/* start.c: attempt_begin() keeps what the start has told. finish.c */
void attempt_begin(struct attempt *attempt, const struct started *started);
/* The conversation has them. */
void attempt_drop_records(struct attempt *attempt);
attempt_step step_loading, step_saving, step_finishing, step_releasing,
    step_parking;
/* action.c: what is done with a session itself. */
attempt_step step_acting, step_forking, step_recording;

void attempt_run(struct attempt *attempt);
enum turn attempt_go(struct attempt *attempt, enum attempt_state next);
/* The job has come to its end. */
enum turn attempt_complete(struct attempt *attempt);
/* Ends the job with that error. */
enum turn attempt_fail(struct attempt *attempt, const struct err *why);
/* What people have seen of a reply that did not come to its end is the answer
 * of a job that is stopped before it asks again. */
void attempt_keep_partial(struct attempt *attempt);
/* Gives up what runs outside. Cells of a session that outlives the job are
 * interrupted; one of the job's own ends with its session. */
void attempt_drop_work(struct attempt *attempt);

/* retry.c. The same step again after a while, here or when the queue brings the
 * job back; or attempt_fail() when the error is not of that kind, or tried
 * often enough. wait_ms: at least. */
enum turn attempt_retry(struct attempt *attempt, const struct err *why,
                        uint64_t wait_ms, enum attempt_state resume);

/* The same after exactly so long, which is no failure of the job: it is not
 * counted as a try. Only its deadline ends it. */
enum turn attempt_rest(struct attempt *attempt, const struct err *why,
                       uint64_t wait_ms, struct view reason,
                       enum attempt_state resume);
/* The same, never in the queue. */
enum turn attempt_hold(struct attempt *attempt, const struct err *why,
                       uint64_t wait_ms, enum attempt_state resume);
/* The job waits for an executor, and this host's is away: others may have one.
 */
bool attempt_is_deserted(const struct attempt *attempt, const struct err *why);
/* Back into the queue; no attempt is charged, the job is not to blame. */
enum turn attempt_hand_back(struct attempt *attempt, const struct err *why);
/* attempt_retry() would fail: it was tried often enough, or time is up. */
bool attempt_is_spent(const struct attempt *attempt, const struct err *why);
/* The request that runs is given up. turn.c */
void attempt_drop_call(struct attempt *attempt);

/* What cells have left must outlive a job that takes long; its last call is
 * that of the end. */
void attempt_renew_blobs(struct attempt *attempt, uint64_t ttl_ms);

/* What the job may use of it is for its tools to say. */
const struct catalog *attempt_catalog(const struct attempt *attempt);
/* What else its next step depends on, see decide.h. */
struct terms attempt_terms(const struct attempt *attempt);
struct holding attempt_holding(const struct attempt *attempt);
uint64_t attempt_now_ms(const struct attempt *attempt); /* the loop's clock */
/* Encodes into attempt->record; false: it does not fit, the attempt fails. */
bool attempt_compose(struct attempt *attempt, const struct record *record);
/* Writes attempt->record and an event in one step. Landed when that is done
 * and the conversation has taken the record. */
void attempt_journal(struct attempt *attempt, const char *type,
                     const struct event_data *data);
/* The same of a record that the tenant's budget pays for. Without a type there
 * is no event. */
void attempt_journal_spend(struct attempt *attempt, const struct spend *spend,
                           const char *type, const struct event_data *data);
/* Of tool.started, for the call that runs. */
struct event_data attempt_started(const struct attempt *attempt);
/* use.c, use_code.c, use_model.c: tools other than Python. */
attempt_step step_gathering;
/* The code of a cell asks for one. */
void use_ask(struct attempt *attempt, struct view call,
             const struct frame *frame, bool past);
/* The code of that call runs from its beginning. */
void use_rerun(struct attempt *attempt, struct view call);
/* Nobody waits for them any more. */
void uses_drop(struct attempt *attempt);

/* spend.c */
struct spend spend_reserve(const struct attempt *attempt);
struct usage spend_usage(const struct attempt *attempt,
                         const struct model_reply *reply);
/* What the endpoint has counted of a reply that is no use; zeroed: nothing. */
struct usage spend_failure(const struct attempt *attempt,
                           const struct model_failure *failure);
struct spend spend_settle(const struct attempt *attempt,
                          const struct usage *usage);
/* The answer to a reservation, into attempt->barred; then it waits, or fails.
 */
bool spend_is_barred(struct attempt *attempt, const redisReply *reply);
enum turn spend_wait(struct attempt *attempt);

/* For writes that only matter when they are refused. */
store_done attempt_written;
/* For writes that the state waits for. */
store_done attempt_landed;

#endif
