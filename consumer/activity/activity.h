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
 * them returns what the machine's step then returns. */
#ifndef CONSUMER_ACTIVITY_ACTIVITY_H
#define CONSUMER_ACTIVITY_ACTIVITY_H

#include "consumer/job/attempt.h"
#include "consumer/job/wait.h"

/* Limits of states: of what waits for Redis alone, and after the bounds of
 * whatever else is waited for. */
enum {
    ACTIVITY_REDIS_MS = 10 * 60 * 1000, /* Redis may be away for so long */
    ACTIVITY_OTHERS_MS = 25 * 60 * 60 * 1000,
};

struct activity;

struct activity_kind {
    struct machine_kind machine;
    unsigned int resting; /* the state in which it waits for time to pass; as
                             many as there are states: it never does */
    /* The attempt must stop: what runs outside is given up. False: there is
     * something to be written first; then it is over by itself. NULL: nothing
     * is to be done. Not called when the job is somebody else's. */
    bool (*stop)(struct activity *activity, enum stop_reason stop);
    /* A request to the session has ended, and no state waits for it. NULL: a
     * state does, and lands. */
    void (*on_session)(struct activity *activity);
    void (*free)(struct activity *activity);
};

enum activity_end { ACTIVITY_GOES_ON, ACTIVITY_OVER, ACTIVITY_PARKS };

struct activity { /* the first member of each activity */
    const struct activity_kind *kind;
    struct attempt *attempt;
    struct machine machine;
    struct alarm *alarm; /* the state's limit */
    unsigned int resume; /* after resting */
    enum activity_end end;
};

/* How each begins: it is the attempt's from then on. */
void recall_start(struct attempt *attempt);
void model_turn_start(struct attempt *attempt);
void cell_start(struct attempt *attempt);
void tool_calls_start(struct attempt *attempt);
void session_act_start(struct attempt *attempt);
void activity_free(struct activity *activity); /* accepts NULL */

/* ------------------------------------------------- for the activities only */

/* entered of each machine. */
void activity_entered(void *owner);
/* landed of each resting state. */
machine_step activity_rested;

void activity_init(struct activity *activity, const struct activity_kind *kind,
                   struct attempt *attempt);
/* What the state has asked for has come. */
void activity_land(struct activity *activity);
/* The attempt's activity, if it is of that kind and in that state; else NULL.
 * For answers of the store, which outlive an activity that is stopped. */
struct activity *activity_find(const struct attempt *attempt,
                               const struct activity_kind *kind,
                               unsigned int state);

/* It is over: what comes next is to be decided. */
enum pace activity_done(struct activity *activity);
/* It is over, and the job waits in its queue: attempt->retries. */
enum pace activity_park(struct activity *activity);
/* The job ends with that error. */
enum pace activity_fail(struct activity *activity, const struct err *why);

/* Makes a request to the session; activity_land() when it has ended. */
enum pace activity_request(struct activity *activity,
                           const struct session_request *request);
/* Of a request that has landed. False: it failed, and *pace is what the step
 * does then: it tries again in this state, or the job ends. */
bool activity_is_granted(struct activity *activity, enum pace *pace);

/* As the delay says: rest and then resume; in the queue; or fail. */
enum pace activity_delay(struct activity *activity, enum delay delay,
                         const struct err *why, unsigned int resume);

#endif
