/* activity.h - one activity of a job.
 *
 *   recall        brings what was said in the session before
 *   model_turn    asks the model for the next message, or for a summary
 *   cell          has the code of one call run
 *   tool_calls    makes calls of other tools, many at once
 *   session_act   does what a job of kind session is for
 *
 * An attempt has at most one activity (job/attempt.h). An activity owns what it
 * needs: it is made when it starts, and freed when it is over. What must be
 * kept of it is in the journal, and so in the conversation.
 *
 * An activity has a machine of its own, which the attempt runs. It is over when
 * it has called one of the activity_...() functions below that end it. Each of
 * them returns what the machine's step then returns.
 *
 * A callback of an activity stores what has come and calls activity_land(),
 * which may free the activity before it returns. Whatever can call back after
 * the activity is gone must be told to forget it in free(): journal_forget(),
 * session_abandon(). Answers of the store cannot be told: their owner is the
 * attempt, and they look for their activity with activity_find(). */
#ifndef CONSUMER_ACTIVITY_ACTIVITY_H
#define CONSUMER_ACTIVITY_ACTIVITY_H

#include "consumer/job/attempt.h"
#include "consumer/job/wait.h"

/* Limits of states. They end what hangs because of a bug, or of a Redis that
 * does not come back. */
enum {
    /* Of a state that waits for Redis alone. Then the attempt ends without a
     * further write, see attempt_overdue(). */
    ACTIVITY_REDIS_MS = 10 * 60 * 1000,
    /* Of other states: longer than all that bounds a request, a cell or a call
     * itself. */
    ACTIVITY_OTHERS_MS = 25 * 60 * 60 * 1000,
};

struct activity;

/* What the activities of one kind have in common: a constant of its file. */
struct activity_kind {
    struct machine_kind machine; /* with activity_entered() as entered */
    unsigned int resting; /* the state in which it waits for time to pass; the
                             number of states: it has none */
    /* The attempt must stop: gives up what runs outside. False: something must
     * be written first; the activity ends by itself then, and this is called
     * again before each step until it has. NULL: nothing is to be done. Not
     * called with STOP_LOST. */
    bool (*stop)(struct activity *activity, enum stop_reason stop);
    /* A request to the session has ended, for which no state waits. NULL: the
     * state waits for it, and lands. */
    void (*on_session)(struct activity *activity);
    /* Of the struct and all that it owns; the attempt does not point to it any
     * more. */
    void (*free)(struct activity *activity);
};

enum activity_end { ACTIVITY_GOES_ON, ACTIVITY_OVER, ACTIVITY_PARKS };

/* The first member of each activity, so that a pointer to one is a pointer to
 * the other. */
struct activity {
    const struct activity_kind *kind;
    struct attempt *attempt;
    struct machine machine;
    struct alarm *alarm;   /* the state's limit, or the end of its rest */
    unsigned int resume;   /* the state after resting */
    enum activity_end end; /* once it does not go on, no step is run */
};

/* Makes an activity and gives it to the attempt, which must have none. The
 * attempt runs it with its next step. */
void recall_start(struct attempt *attempt);
void model_turn_start(struct attempt *attempt);
void cell_start(struct attempt *attempt);
void tool_calls_start(struct attempt *attempt);
void session_act_start(struct attempt *attempt);
void activity_free(struct activity *activity); /* accepts NULL */

/* ------------------------------------------------- for the activities only */

/* The function entered of each machine: sets the alarm. */
void activity_entered(void *owner);
/* The function landed of each resting state. */
machine_step activity_rested;

/* Begins in state 0. Makes it the activity of the attempt. */
void activity_init(struct activity *activity, const struct activity_kind *kind,
                   struct attempt *attempt);
/* What the state has asked for has come: runs the attempt. */
void activity_land(struct activity *activity);
/* The attempt's activity, if it goes on, is of that kind, and in that state;
 * else NULL. For answers of the store, which may come when the activity that
 * asked is gone. */
struct activity *activity_find(const struct attempt *attempt,
                               const struct activity_kind *kind,
                               unsigned int state);

/* It is over: the attempt decides what comes next. */
enum pace activity_done(struct activity *activity);
/* It is over, and the job waits in its queue, as attempt->retries says. */
enum pace activity_park(struct activity *activity);
/* The job ends with that error: attempt_fail(). */
enum pace activity_fail(struct activity *activity, const struct err *why);

/* Makes a request to the session; activity_land() comes when it has ended, also
 * from inside of this. Views of the request are borrowed until then. */
enum pace activity_request(struct activity *activity,
                           const struct session_request *request);
/* Whether a request that has landed was carried out. If not, *pace is what the
 * step returns: the activity rests and tries again in this state, or the job
 * waits in its queue, or ends. */
bool activity_is_granted(struct activity *activity, enum pace *pace);

/* Carries out what wait.h has decided: rests and then resumes in that state;
 * parks; or fails with why. */
enum pace activity_delay(struct activity *activity, enum delay delay,
                         const struct err *why, unsigned int resume);

#endif
