/* model_turn.h - asks the model for its next message.
 *
 *   ASKING --> REQUESTING ----------------> RECORDING --> over
 *    ^ ^ |         | |                          ^
 *    | | |         | '--> RETRIEVING -----------'
 *    | | |         v          |
 *    | | '------ REFUSING <---'---> the job waits in its queue, or fails
 *    | v
 *    SHOWING, RESTING, from any and back
 *
 * ASKING composes the request and writes model_intent, with a hash of the
 * request. REQUESTING sends just that request, and hears the reply; RECORDING
 * writes model_reply. An intent without a reply means that the request may have
 * been paid for: the next one counts as repeated, and what was reserved for the
 * first counts against the job's limits.
 *
 * REFUSING writes that an intent came to nothing, or what a useless reply has
 * cost, so that neither is the case. It comes before each new intent, and
 * before the job waits elsewhere or fails, unless nobody knows whether the
 * request was carried out. When the attempt has to stop, a request that stands
 * in the journal and was surely not paid for is REFUSING first.
 *
 * The request may be for a summary of what the next request would leave out.
 * When that comes to nothing, ASKING writes so, and the turn goes on without
 * one.
 *
 * RETRIEVING: a reply that its endpoint keeps is fetched before another one is
 * paid for. Its id is in the journal (model_sent) soon after the endpoint has
 * sent it, so an attempt that takes over begins there as well. Meanwhile the
 * endpoint that was asked is in the place of attempt->endpoint, and stays there
 * when it has answered.
 *
 * SHOWING reads the pictures of a request from their blobs, for a model that
 * sees.
 */
#ifndef CONSUMER_ACTIVITY_MODEL_TURN_H
#define CONSUMER_ACTIVITY_MODEL_TURN_H

#include "consumer/activity/activity.h"
#include "consumer/activity/early_session.h"
#include "consumer/queue/fleet_endpoints.h"

enum { BRIEF_MS = 1000 }; /* a shorter wait is no reason for a fallback */

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

/* What follows when REFUSING has written. */
enum after_refusal {
    THEN_JUDGE, /* what the reply has cost is written: judge the failure now */
    THEN_ASK,
    THEN_PARK,
    THEN_FAIL,
    THEN_STOP, /* the attempt stops */
};

struct model_turn {
    struct activity activity;
    struct model_call *call;  /* composed, or sent; NULL: neither */
    struct model_plan plan;   /* what it asks, and what that may take; its
                                 messages are gone when call has been made */
    struct spend spent;       /* what the reply took; with record */
    struct model_usage usage; /* the same, for who follows */
    /* The tenant's budget does not allow the request: why, and for how long; 0:
     * for good. Valid once ASKING has landed. */
    bool barred;
    struct err bar;
    uint64_t bar_ms;
    bool requested;   /* REQUESTING: the request was sent, not only awaited */
    bool squeezing;   /* the request was too long: ASKING makes a shorter one */
    bool has_summary; /* the reply to a request for a summary has one */
    bool was_summary; /* the reply in RECORDING is one to such a request */
    bool forgoing;    /* ASKING writes that there is no summary; see failure */
    struct request_images *shown; /* of the next request; NULL: not read yet */
    unsigned int shown_then;      /* the state after SHOWING */
    char hash[65]; /* of the request that the last intent names */
    bool twice; /* when that was written, the request before was open, so it may
                   be answered and charged as well */
    bool asks_endpoint; /* breaker_ask() let this turn pass: it must tell the
                           breaker what came of it, or breaker_dropped() */
    struct model_failure failure; /* of the last call; ERR_NONE: a reply came */
    enum after_refusal then;      /* in REFUSING */
    struct reply_retrieval *retrieval; /* of a reply that its endpoint keeps;
                                          NULL: none is known */
    struct buf record;                 /* of the reply, encoded, */
    struct buf text;                   /* ... and its text, for the event */
    uint64_t message_item, reasoning_item; /* of the reply that comes; 0: that
                                              part has not begun */
    struct early_session early_session;
    uint64_t asked_ms;     /* when the request was sent, by the loop's clock */
    bool heard;            /* something of its reply has come */
    struct work_span chat; /* the request */
};

/* NULL: the activity is another one, or over. */
struct model_turn *model_turn_of(struct activity *activity);
/* machine_go() of the turn. */
enum pace turn_go(struct model_turn *turn, enum model_turn_state next);

/* A turn is about to send its request, and waits for a reading of what the
 * fleet knows of its endpoint. It goes on when the attempt is run. */
bool model_turn_is_held(const struct attempt *attempt);

/* model_turn.c */
/* What is asked for is a summary: its text is not for followers, and no answer.
 */
bool turn_summarises(const struct model_turn *turn);
/* A reply begins, or begins again: what was heard of it is void. */
void turn_begin_items(struct model_turn *turn);
/* What every event of a piece of the reply tells. */
struct event_data turn_message_event(struct model_turn *turn);
struct event_data turn_reasoning_event(struct model_turn *turn);
/* A reply came, or could be fetched: composes its record. Borrows the reply.
 * The turn has no retrieval any more then. */
void turn_take_reply(struct model_turn *turn, const struct model_reply *reply);
/* Tells breaker and fleet what an answer says of the endpoint. NULL: it is
 * well. */
void turn_tell_endpoint(struct model_turn *turn,
                        const struct model_failure *failure);
/* Counts one more, for the operators' totals of the endpoint and our own. */
void turn_count(struct model_turn *turn, enum endpoint_count what);
/* Decides what follows turn->failure: another request, another endpoint, a
 * wait, or the end of the job. */
enum pace turn_judge_failure(struct model_turn *turn);
/* No endpoint may be asked for wait_ms. */
enum pace turn_await_endpoint(struct model_turn *turn, uint64_t wait_ms,
                              enum model_turn_state resume);
/* As activity_delay(); a request that stands in the journal is refused before
 * the job waits elsewhere, or ends. */
enum pace turn_delay(struct model_turn *turn, enum delay delay,
                     const struct err *why, enum model_turn_state resume);
/* In ASKING: the tenant's budget will never allow a summary. */
enum pace turn_forgo_summary(struct model_turn *turn, const struct err *why);
/* Gives the call up, sent or not. No callback of it comes any more. */
void turn_drop_call(struct model_turn *turn);

/* model_images.c: pictures, for a model that sees. */
machine_step enter_showing, step_showing;
/* The next request shows pictures that were not read yet. */
bool images_are_due(const struct model_turn *turn);
enum pace images_show(struct model_turn *turn, enum model_turn_state then);
/* What a request is made of, beside the conversation. */
struct request_context images_context(const struct model_turn *turn,
                                      enum ask_kind kind);
/* Blobs of the pictures that were read: those of the list are views of the
 * conversation. */
struct list images_blobs(const struct model_turn *turn,
                         struct view blobs[MAX_SHOWN]);
void images_drop(struct model_turn *turn);

/* model_retrieve.c */
machine_step enter_retrieving, step_retrieved;
/* The endpoint has told the id of the reply that is coming, which it keeps:
 * writes it to the journal. Copies the id. */
void retrieve_keep(struct model_turn *turn, struct view id);
/* The journal has the id of a reply that nobody has seen, and its endpoint is
 * still configured. Then turn->retrieval is set, and attempt->endpoint is that
 * one. */
bool retrieve_finds(struct model_turn *turn);
/* The reply has come, or is not wanted any more: frees turn->retrieval. */
void retrieve_forget(struct model_turn *turn);
/* Stops fetching it; the next attempt may go on. */
void retrieve_stop(struct model_turn *turn);
/* Nobody wants the reply: tells the endpoint not to make it, and forgets it. */
void retrieve_cancel(struct model_turn *turn);

/* model_spend.c: what it takes of the tenant's budget. */
struct spend spend_reserve(const struct model_turn *turn);
/* What a reply took, as the endpoint has counted, or else as it is estimated.
 */
struct usage spend_usage(const struct model_turn *turn,
                         const struct model_reply *reply);
/* What the endpoint has counted of a reply that is no use; zeroed: nothing. */
struct usage spend_failure(const struct model_turn *turn);
/* Gives back what was reserved and takes the usage. */
struct spend spend_settle(const struct model_turn *turn,
                          const struct usage *usage);
/* Reads the answer to a reservation into turn->barred, bar and bar_ms. */
bool spend_is_barred(struct model_turn *turn, const redisReply *reply);
/* Of a turn that is barred: it waits, goes on without a summary, or fails. */
enum pace spend_wait(struct model_turn *turn);

#endif
