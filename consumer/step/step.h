/* step.h - one activity of a job.
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
 * it has called one of the step_...() functions below that end it. Each of them
 * returns what the machine's step then returns. */
#ifndef CONSUMER_STEP_STEP_H
#define CONSUMER_STEP_STEP_H

#include "consumer/job/attempt.h"
#include "consumer/job/wait.h"

/* Limits of states: of what waits for Redis alone, and after the bounds of
 * whatever else is waited for. */
enum {
    STEP_REDIS_MS = 10 * 60 * 1000, /* Redis may be away for so long */
    STEP_OTHERS_MS = 25 * 60 * 60 * 1000,
};

struct step;

struct step_kind {
    struct machine_kind machine;
    unsigned int resting; /* the state in which it waits for time to pass; as
                             many as there are states: it never does */
    /* The attempt must stop: what runs outside is given up. False: there is
     * something to be written first; then it is over by itself. NULL: nothing
     * is to be done. Not called when the job is somebody else's. */
    bool (*stop)(struct step *step, enum stop stop);
    /* A request to the session has ended, and no state waits for it. NULL: a
     * state does, and lands. */
    void (*on_session)(struct step *step);
    void (*free)(struct step *step);
};

enum step_end { STEP_GOES_ON, STEP_OVER, STEP_PARKS };

struct step { /* the first member of each activity */
    const struct step_kind *kind;
    struct attempt *attempt;
    struct machine machine;
    struct alarm *alarm; /* the state's limit */
    unsigned int resume; /* after resting */
    enum step_end end;
};

/* How each begins: it is the attempt's from then on. */
void recall_start(struct attempt *attempt);
void model_turn_start(struct attempt *attempt);
void cell_start(struct attempt *attempt);
void tool_calls_start(struct attempt *attempt);
void session_act_start(struct attempt *attempt);
void step_free(struct step *step); /* accepts NULL */

/* ------------------------------------------------- for the activities only */

/* entered of each machine. */
void step_entered(void *owner);
/* landed of each resting state. */
machine_step step_rested;

void step_init(struct step *step, const struct step_kind *kind,
               struct attempt *attempt);
/* What the state has asked for has come. */
void step_land(struct step *step);
/* The attempt's activity, if it is of that kind and in that state; else NULL.
 * For answers of the store, which outlive an activity that is stopped. */
struct step *step_find(const struct attempt *attempt,
                       const struct step_kind *kind, unsigned int state);

/* It is over: what comes next is to be decided. */
enum pace step_done(struct step *step);
/* It is over, and the job waits in its queue: attempt->patience. */
enum pace step_park(struct step *step);
/* The job ends with that error. */
enum pace step_fail(struct step *step, const struct err *why);

/* Makes a request to the session; step_land() when it has ended. */
enum pace step_request(struct step *step,
                       const struct session_request *request);
/* Of a request that has landed. False: it failed, and *pace is what the step
 * does then: it tries again in this state, or the job ends. */
bool step_is_granted(struct step *step, enum pace *pace);

/* As the delay says: rest and then resume; in the queue; or fail. */
enum pace step_delay(struct step *step, enum delay delay, const struct err *why,
                     unsigned int resume);

#endif
