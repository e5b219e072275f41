/* model_turn.h - a message of the model is asked for.
 *
 *   ASKING --> REQUESTING ----------------> RECORDING --> over
 *    ^ ^ |         | |                          ^
 *    | | |         | '--> RETRIEVING -----------'
 *    | | |         v          |
 *    | | '------ REFUSING <---'---> the job waits in its queue, or fails
 *    | v
 *    SHOWING, RESTING, from any and back
 *
 * ASKING makes the request and writes model_intent; REQUESTING sends what the
 * journal says, and hears the reply; RECORDING writes model_reply. REFUSING
 * writes that an intent came to nothing, or what a reply has cost that is no
 * use. When the attempt has to stop, a request that stands in the journal, and
 * for which nothing was paid, is REFUSING first.
 *
 * What is asked for may be a summary of what a request would leave out; when
 * nothing comes of that, ASKING writes so.
 *
 * RETRIEVING: a reply that its endpoint keeps is fetched before another one is
 * paid for. Its id is in the journal (model_sent) as soon as it is heard, so
 * that also who takes the job over begins there. The endpoint that was asked is
 * in the place of the job's own meanwhile, and stays there when it has
 * answered.
 *
 * SHOWING brings the pictures of a request, for a model that sees. */
#ifndef CONSUMER_ACTIVITY_MODEL_TURN_H
#define CONSUMER_ACTIVITY_MODEL_TURN_H

#include "consumer/activity/activity.h"
#include "consumer/activity/early_session.h"
#include "consumer/queue/fleet_endpoints.h"

enum { BRIEF_MS = 1000 }; /* a wait that is no reason to ask another endpoint */

enum model_turn_state {
    TURN_STARTING,
    TURN_ASKING,
    TURN_SHOWING,
    TURN_REQUESTING,
    TURN_RETRIEVING,
    TURN_RECORDING,
    TURN_REFUSING,
    TURN_RESTING,
    TURN_STATES,
};

/* What follows when it is written that a request came to nothing. */
enum after_refusal {
    THEN_JUDGE, /* its cost was written; the failure is judged now */
    THEN_ASK,
    THEN_PARK,
    THEN_FAIL,
    THEN_STOP, /* the attempt has to */
};

struct model_turn {
    struct activity activity;
    struct model_call *call;
    struct model_plan plan; /* what it asks, and what that may take */
    struct spend spent;     /* what it took */
    /* By the tenant's budget: why, and for how long; 0: for good. */
    bool barred;
    struct err bar;
    uint64_t bar_ms;
    bool requested;   /* REQUESTING: the request was sent */
    bool squeezing;   /* the request was too long: a shorter one now */
    bool has_summary; /* the reply to a request for one has one */
    bool was_summary; /* what was answered last */
    bool forgoing;    /* no summary is asked for any more: failure says why */
    struct request_images *shown; /* pictures of the request that is made */
    unsigned int shown_then;      /* where SHOWING goes back to */
    char hash[65]; /* of the request that the last intent names */
    bool twice;    /* the one before may have been answered, and charged, too */
    bool asks_endpoint;           /* its breaker waits for what comes of it */
    struct model_failure failure; /* of the call; ERR_NONE: a reply came */
    enum after_refusal then;
    struct reply_retrieval
        *retrieval;    /* its reply is kept; NULL: not known so */
    struct buf record; /* of the reply, */
    struct buf text;   /* ... and its text, for the event */
    struct early_session early_session; /* of its end */
    uint64_t asked_ms;
};

struct model_turn *model_turn_of(struct activity *activity);
enum pace turn_go(struct model_turn *turn, enum model_turn_state next);

/* It waits for what the fleet knows of its endpoint, and goes on when it is
 * run. */
bool model_turn_is_held(const struct attempt *attempt);

/* model_turn.c */
/* What is asked for is a summary: nobody is to hear it as an answer. */
bool turn_summarises(const struct model_turn *turn);
/* Of a reply that came, or could be fetched: composes its record. */
void turn_take_reply(struct model_turn *turn, const struct model_reply *reply);
/* What an answer says of the endpoint; failure: NULL, it is well. */
void turn_tell_endpoint(struct model_turn *turn,
                        const struct model_failure *failure);
void turn_count(struct model_turn *turn, enum endpoint_count what);
/* turn->failure is what has come of the request. */
enum pace turn_judge_failure(struct model_turn *turn);
/* The endpoint rests for so long. */
enum pace turn_await_endpoint(struct model_turn *turn, uint64_t wait_ms,
                              enum model_turn_state resume);
/* As activity_delay(); a request that stands in the journal is refused before
 * the job waits elsewhere, or ends. */
enum pace turn_delay(struct model_turn *turn, enum delay delay,
                     const struct err *why, enum model_turn_state resume);
/* In ASKING: the tenant's budget will never pay for it. */
enum pace turn_forgo_summary(struct model_turn *turn, const struct err *why);
/* The request that runs is given up. */
void turn_drop_call(struct model_turn *turn);

/* model_images.c: pictures, for a model that sees. */
machine_step enter_showing, step_showing;
bool images_are_due(const struct model_turn *turn);
enum pace images_show(struct model_turn *turn, enum model_turn_state then);
/* What a request is made of, beside the conversation. */
struct request_context images_context(const struct model_turn *turn,
                                      enum ask_kind kind);
/* Blobs of the pictures that were there. */
struct list images_blobs(const struct model_turn *turn,
                         struct view blobs[MAX_SHOWN]);
void images_drop(struct model_turn *turn);

/* model_retrieve.c */
machine_step enter_retrieving, step_retrieved;
/* The id of the reply that is coming. */
void retrieve_keep(struct model_turn *turn, struct view id);
/* By the journal there is one that nobody has seen, and it can be had. */
bool retrieve_finds(struct model_turn *turn);
/* It has come, or there is none, or another one is asked for. */
void retrieve_forget(struct model_turn *turn);
/* It is not asked for any more, here. */
void retrieve_stop(struct model_turn *turn);
/* Nobody wants it: it need not be made. */
void retrieve_cancel(struct model_turn *turn);

/* model_spend.c: what it takes of the tenant's budget. */
struct spend spend_reserve(const struct model_turn *turn);
struct usage spend_usage(const struct model_turn *turn,
                         const struct model_reply *reply);
/* What the endpoint has counted of a reply that is no use; zeroed: nothing. */
struct usage spend_failure(const struct model_turn *turn);
struct spend spend_settle(const struct model_turn *turn,
                          const struct usage *usage);
/* The answer to a reservation, into turn->barred; then it waits, or fails. */
bool spend_is_barred(struct model_turn *turn, const redisReply *reply);
enum pace spend_wait(struct model_turn *turn);

#endif
