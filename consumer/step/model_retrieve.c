/* model_retrieve.c - a reply that its endpoint keeps is fetched before another
 * one is paid for. */
#include <stdlib.h>
#include <string.h>

#include "consumer/log.h"
#include "consumer/model/retrieval.h"
#include "consumer/step/model_turn.h"
#include "schemas/message/limits.h"

enum {
    PAUSE_MS = 1000, /* the first one; then doubled */
    MOST_PAUSE_MS = 10 * 1000,
    PATIENCE_MS = 600 * 1000, /* where the endpoint's total_ms says nothing */
};

struct retrieving {
    char id[MAX_REPLY_ID_BYTES];
    size_t len;
    struct model_endpoint *home; /* the attempt's own, while the one that was
                                    asked is in its place; NULL: it is that */
    struct retrieval *running;
    bool begun; /* pieces of it were told */
    enum retrieved what;
    struct model_failure failure;
    uint64_t since_ms; /* when it was asked for first; 0: not yet */
    uint64_t pause_ms;
    uint64_t tries; /* of the request, before those to fetch it */
};

static struct view id_of(const struct retrieving *retrieving)
{
    return (struct view){ retrieving->id, retrieving->len };
}

/* Of an id that the endpoint knows. */
static struct retrieving *remember(struct model_turn *turn, struct view id)
{
    struct retrieving *retrieving = calloc(1, sizeof(*retrieving));
    if (retrieving == NULL)
        abort();
    memcpy(retrieving->id, id.data, id.len);
    retrieving->len = id.len;
    turn->retrieving = retrieving;
    return retrieving;
}

void retrieve_stop(struct model_turn *turn)
{
    struct retrieving *retrieving = turn->retrieving;
    if (retrieving == NULL)
        return;
    retrieval_free(retrieving->running);
    retrieving->running = NULL;
}

void retrieve_forget(struct model_turn *turn)
{
    struct attempt *attempt = turn->step.attempt;
    struct retrieving *retrieving = turn->retrieving;
    if (retrieving == NULL)
        return;
    retrieve_stop(turn);
    if (retrieving->home != NULL) {
        if (turn->asks_endpoint)
            breaker_dropped(&attempt->endpoint->breaker);
        turn->asks_endpoint = false;
        endpoint_free(attempt->endpoint);
        attempt->endpoint = retrieving->home;
    }
    free(retrieving);
    turn->retrieving = NULL;
}

void retrieve_cancel(struct model_turn *turn)
{
    struct attempt *attempt = turn->step.attempt;
    if (turn->retrieving == NULL)
        return;
    retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                     id_of(turn->retrieving));
    retrieve_forget(turn);
}

/* ------------------------------------------------------------- journaling */

/* Writes are carried out in order: the reply's comes behind it. */
void retrieve_keep(struct model_turn *turn, struct view id)
{
    struct attempt *attempt = turn->step.attempt;
    struct record record = {
        .kind = RECORD_MODEL_SENT,
        .attempt = attempt->origin.number,
        .turn = attempt->conversation.turn + 1,
        .purpose = turn_summarises(turn) ? PURPOSE_SUMMARY : PURPOSE_TURN,
        .model = view_of(attempt->endpoint->name),
        .reply_id = id,
    };
    struct buf bytes;
    struct journal_entry entry = { .record = &bytes };
    struct err err;
    if (turn->retrieving != NULL)
        return; /* it has said so before */
    remember(turn, id);
    if (!journal_encode(&record, &bytes, &err))
        abort(); /* all parts are bounded */
    journal_write(&attempt->journal, &entry, NULL, NULL);
}

/* -------------------------------------------------------------- taken over */

/* The endpoint that was asked, if it is still there. */
static struct model_endpoint *find_asked(const struct model_turn *turn)
{
    const struct attempt *attempt = turn->step.attempt;
    struct view name = view_of(attempt->conversation.spending.model);
    struct model_endpoint *asked =
        endpoints_take(&attempt->consumer->endpoints, name, NULL);
    if (asked != NULL && view_is(name, asked->name) &&
        retrieval_knows(asked, attempt->conversation.reply_id))
        return asked;
    endpoint_free(asked);
    return NULL;
}

bool retrieve_finds(struct model_turn *turn)
{
    struct attempt *attempt = turn->step.attempt;
    const struct conversation *conversation = &attempt->conversation;
    struct model_endpoint *asked =
        conversation->reply_id.len > 0 ? find_asked(turn) : NULL;
    if (asked == NULL)
        return false;
    struct retrieving *retrieving = remember(turn, conversation->reply_id);
    retrieving->home = attempt->endpoint;
    attempt->endpoint = asked;
    turn->asked_ms = attempt_now_ms(attempt);
    turn->decided.asked.expected = conversation->sent;
    turn->failure = (struct model_failure){ 0 };
    return true;
}

/* ---------------------------------------------------------------- hearing */

/* What was told of it before it broke off is void. */
static void tell(struct model_turn *turn, const char *type, struct view text)
{
    struct attempt *attempt = turn->step.attempt;
    const struct event_data about = { .turn = attempt->conversation.turn + 1 };
    if (turn_summarises(turn))
        return;
    if (!turn->retrieving->begun)
        progress_event(&attempt->progress, "turn.started", &about);
    turn->retrieving->begun = true;
    progress_text(&attempt->progress, type, &about, text);
}

static void on_text(void *owner, struct view text)
{
    tell(owner, "message.delta", text);
}

static void on_reasoning(void *owner, struct view text)
{
    tell(owner, "reasoning.delta", text);
}

/* That it has kept something does not say that it can make anything now. */
static void tell_endpoint(struct model_turn *turn, enum retrieved what,
                          const struct model_failure *failure)
{
    if (what == RETRIEVED_AWAY)
        turn_tell_endpoint(turn, failure);
    else
        breaker_dropped(&turn->step.attempt->endpoint->breaker);
    turn->asks_endpoint = false;
}

/* With the endpoint that has answered: as who has fallen back to it does. */
static void stay(struct model_turn *turn)
{
    endpoint_free(turn->retrieving->home);
    turn->retrieving->home = NULL;
}

static void on_done(void *owner, enum retrieved what,
                    const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->step.attempt;
    struct retrieving *retrieving = turn->retrieving;
    retrieving->what = what;
    if (failure != NULL)
        retrieving->failure = *failure;
    tell_endpoint(turn, what, failure);
    log_line("model.retrieved", "{s:s, s:s, s:s, s:s}", "job",
             attempt->origin.id, "model", attempt->endpoint->name, "reply",
             reply != NULL ? "fetched" : failure->why.code, "why",
             reply != NULL ? "" : failure->why.text);
    if (reply != NULL) {
        stay(turn);
        turn_count(turn, COUNT_RECOVERED);
        turn_take_reply(turn, reply); /* and it is forgotten */
    }
    step_land(&turn->step);
}

/* ---------------------------------------------------------------- deciding */

/* As it would have gone on without: after the failure, if there was one here,
 * and with as many tries. */
static enum pace do_without(struct model_turn *turn)
{
    if (turn->retrieving->since_ms > 0)
        turn->step.attempt->patience.tries = turn->retrieving->tries;
    retrieve_forget(turn);
    return turn->failure.why.kind == ERR_NONE ? turn_go(turn, TURN_ASKING)
                                              : turn_judge_failure(turn);
}

static uint64_t patience_ms(const struct model_turn *turn)
{
    uint64_t own = turn->step.attempt->endpoint->total_ms;
    return own > 0 ? own : PATIENCE_MS;
}

/* One may also never be made: it is not waited for as long as the job lives,
 * and so not in the queue, where nobody would know since when. */
static enum pace ask_later(struct model_turn *turn)
{
    struct attempt *attempt = turn->step.attempt;
    struct retrieving *retrieving = turn->retrieving;
    uint64_t waited_ms = attempt_now_ms(attempt) - retrieving->since_ms;
    if (waited_ms >= patience_ms(turn)) {
        retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                         id_of(retrieving));
        return do_without(turn);
    }
    uint64_t pause = retrieving->pause_ms;
    retrieving->pause_ms =
        pause * 2 < MOST_PAUSE_MS ? pause * 2 : MOST_PAUSE_MS;
    const struct err *why = &retrieving->failure.why;
    return turn_delay(turn, wait_hold(attempt, why, pause), why,
                      TURN_RETRIEVING);
}

enum pace step_retrieved(void *owner)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->step.attempt;
    struct retrieving *retrieving = turn->retrieving;
    if (retrieving == NULL)
        return turn_go(turn, TURN_RECORDING);
    const struct model_failure failure = retrieving->failure;
    if (retrieving->what == RETRIEVED_UNFINISHED)
        return ask_later(turn);
    if (retrieving->what == RETRIEVED_AWAY &&
        !wait_is_spent(attempt, &failure.why))
        return turn_delay(
            turn, wait_retry(attempt, &failure.why, failure.retry_after_ms),
            &failure.why, TURN_RETRIEVING);
    if (retrieving->what == RETRIEVED_BAD)
        turn->failure = failure;
    return do_without(turn);
}

static void fetch(struct model_turn *turn)
{
    static const struct retrieval_events events = {
        .on_text = on_text, .on_reasoning = on_reasoning, .on_done = on_done
    };
    struct attempt *attempt = turn->step.attempt;
    struct retrieving *retrieving = turn->retrieving;
    if (retrieving->since_ms == 0) {
        retrieving->since_ms = attempt_now_ms(attempt);
        retrieving->pause_ms = PAUSE_MS;
        retrieving->tries = attempt->patience.tries;
    }
    retrieve_stop(turn);
    retrieving->running =
        retrieval_new(attempt->consumer->http, attempt->endpoint,
                      id_of(retrieving), events, turn);
}

enum pace enter_retrieving(void *owner)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->step.attempt;
    uint64_t wait_ms =
        breaker_ask_kept(&attempt->endpoint->breaker, attempt_now_ms(attempt));
    if (wait_ms > BRIEF_MS && attempt->endpoint->fallback != NULL)
        return do_without(turn);
    if (wait_ms > 0)
        return turn_await_endpoint(turn, wait_ms, TURN_RETRIEVING);
    turn->asks_endpoint = true;
    fetch(turn);
    return WAIT;
}
