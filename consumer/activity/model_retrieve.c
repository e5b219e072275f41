/* model_retrieve.c - a reply that its endpoint keeps is fetched before another
 * one is paid for. */
#include <stdlib.h>
#include <string.h>

#include "consumer/activity/model_turn.h"
#include "consumer/log.h"
#include "consumer/model/retrieval.h"
#include "schemas/message/limits.h"

enum {
    PAUSE_MS = 1000, /* the first one; then doubled */
    MOST_PAUSE_MS = 10 * 1000,
    PATIENCE_MS = 600 * 1000, /* where the endpoint's total_ms says nothing */
};

struct reply_retrieval {
    char id[MAX_REPLY_ID_BYTES];
    size_t len;
    struct model_endpoint *home; /* the attempt's own, while the one that was
                                    asked is in its place; NULL: it is that */
    struct retrieval *running;
    bool begun; /* pieces of it were told */
    enum retrieval_outcome what;
    struct model_failure failure;
    uint64_t since_ms; /* when it was asked for first; 0: not yet */
    uint64_t pause_ms;
    uint64_t tries; /* of the request, before those to fetch it */
};

static struct view id_of(const struct reply_retrieval *retrieval)
{
    return (struct view){ retrieval->id, retrieval->len };
}

/* Of an id that the endpoint knows. */
static struct reply_retrieval *remember(struct model_turn *turn, struct view id)
{
    struct reply_retrieval *retrieval = calloc(1, sizeof(*retrieval));
    if (!retrieval)
        abort();
    memcpy(retrieval->id, id.data, id.len);
    retrieval->len = id.len;
    turn->retrieval = retrieval;
    return retrieval;
}

void retrieve_stop(struct model_turn *turn)
{
    struct reply_retrieval *retrieval = turn->retrieval;
    if (!retrieval)
        return;
    retrieval_free(retrieval->running);
    retrieval->running = NULL;
}

void retrieve_forget(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    struct reply_retrieval *retrieval = turn->retrieval;
    if (!retrieval)
        return;
    retrieve_stop(turn);
    if (retrieval->home) {
        if (turn->asks_endpoint)
            breaker_dropped(&attempt->endpoint->breaker);
        turn->asks_endpoint = false;
        endpoint_free(attempt->endpoint);
        attempt->endpoint = retrieval->home;
    }
    free(retrieval);
    turn->retrieval = NULL;
}

void retrieve_cancel(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    if (!turn->retrieval)
        return;
    retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                     id_of(turn->retrieval));
    retrieve_forget(turn);
}

/* ------------------------------------------------------------- journaling */

/* Writes are carried out in order: the reply's comes behind it. */
void retrieve_keep(struct model_turn *turn, struct view id)
{
    struct attempt *attempt = turn->activity.attempt;
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
    if (turn->retrieval)
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
    const struct attempt *attempt = turn->activity.attempt;
    struct view name = view_of(attempt->conversation.spending.model);
    struct model_endpoint *asked =
        endpoints_take(&attempt->consumer->endpoints, name, NULL);
    if (asked && view_is(name, asked->name) &&
        retrieval_knows(asked, attempt->conversation.reply_id))
        return asked;
    endpoint_free(asked);
    return NULL;
}

bool retrieve_finds(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct conversation *conversation = &attempt->conversation;
    struct model_endpoint *asked =
        conversation->reply_id.len > 0 ? find_asked(turn) : NULL;
    if (!asked)
        return false;
    struct reply_retrieval *retrieval = remember(turn, conversation->reply_id);
    retrieval->home = attempt->endpoint;
    attempt->endpoint = asked;
    turn->asked_ms = attempt_now_ms(attempt);
    turn->plan.content.expected = conversation->sent;
    turn->failure = (struct model_failure){ 0 };
    return true;
}

/* ---------------------------------------------------------------- hearing */

/* What was told of it before it broke off is void. */
static void tell(struct model_turn *turn, const char *type, struct view text)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct event_data about = { .turn = attempt->conversation.turn + 1 };
    if (turn_summarises(turn))
        return;
    if (!turn->retrieval->begun)
        progress_event(&attempt->progress, "turn.started", &about);
    turn->retrieval->begun = true;
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
static void tell_endpoint(struct model_turn *turn, enum retrieval_outcome what,
                          const struct model_failure *failure)
{
    if (what == RETRIEVED_AWAY)
        turn_tell_endpoint(turn, failure);
    else
        breaker_dropped(&turn->activity.attempt->endpoint->breaker);
    turn->asks_endpoint = false;
}

/* With the endpoint that has answered: as who has fallen back to it does. */
static void stay(struct model_turn *turn)
{
    endpoint_free(turn->retrieval->home);
    turn->retrieval->home = NULL;
}

static void on_done(void *owner, enum retrieval_outcome what,
                    const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->activity.attempt;
    struct reply_retrieval *retrieval = turn->retrieval;
    retrieval->what = what;
    if (failure)
        retrieval->failure = *failure;
    tell_endpoint(turn, what, failure);
    log_line("model.retrieved", "{s:s, s:s, s:s, s:s}", "job",
             attempt->origin.id, "model", attempt->endpoint->name, "reply",
             reply ? "fetched" : failure->why.code, "why",
             reply ? "" : failure->why.text);
    if (reply) {
        stay(turn);
        turn_count(turn, COUNT_RECOVERED);
        turn_take_reply(turn, reply); /* and it is forgotten */
    }
    activity_land(&turn->activity);
}

/* ---------------------------------------------------------------- deciding */

/* As it would have gone on without: after the failure, if there was one here,
 * and with as many tries. */
static enum pace do_without(struct model_turn *turn)
{
    if (turn->retrieval->since_ms > 0)
        turn->activity.attempt->retries.tries = turn->retrieval->tries;
    retrieve_forget(turn);
    return turn->failure.why.kind == ERR_NONE ? turn_go(turn, TURN_ASKING)
                                              : turn_judge_failure(turn);
}

static uint64_t patience_ms(const struct model_turn *turn)
{
    uint64_t own = turn->activity.attempt->endpoint->total_ms;
    return own > 0 ? own : PATIENCE_MS;
}

/* One may also never be made: it is not waited for as long as the job lives,
 * and so not in the queue, where nobody would know since when. */
static enum pace ask_later(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    struct reply_retrieval *retrieval = turn->retrieval;
    uint64_t waited_ms = attempt_now_ms(attempt) - retrieval->since_ms;
    if (waited_ms >= patience_ms(turn)) {
        retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                         id_of(retrieval));
        return do_without(turn);
    }
    uint64_t pause = retrieval->pause_ms;
    retrieval->pause_ms = pause * 2 < MOST_PAUSE_MS ? pause * 2 : MOST_PAUSE_MS;
    const struct err *why = &retrieval->failure.why;
    return turn_delay(turn, wait_hold(attempt, why, pause), why,
                      TURN_RETRIEVING);
}

enum pace step_retrieved(void *owner)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->activity.attempt;
    struct reply_retrieval *retrieval = turn->retrieval;
    if (!retrieval)
        return turn_go(turn, TURN_RECORDING);
    const struct model_failure failure = retrieval->failure;
    if (retrieval->what == RETRIEVED_UNFINISHED)
        return ask_later(turn);
    if (retrieval->what == RETRIEVED_AWAY &&
        !wait_is_spent(attempt, &failure.why))
        return turn_delay(
            turn, wait_retry(attempt, &failure.why, failure.retry_after_ms),
            &failure.why, TURN_RETRIEVING);
    if (retrieval->what == RETRIEVED_BAD)
        turn->failure = failure;
    return do_without(turn);
}

static void fetch(struct model_turn *turn)
{
    static const struct retrieval_events events = {
        .on_text = on_text, .on_reasoning = on_reasoning, .on_done = on_done
    };
    struct attempt *attempt = turn->activity.attempt;
    struct reply_retrieval *retrieval = turn->retrieval;
    if (retrieval->since_ms == 0) {
        retrieval->since_ms = attempt_now_ms(attempt);
        retrieval->pause_ms = PAUSE_MS;
        retrieval->tries = attempt->retries.tries;
    }
    retrieve_stop(turn);
    retrieval->running =
        retrieval_new(attempt->consumer->http, attempt->endpoint,
                      id_of(retrieval), events, turn);
}

enum pace enter_retrieving(void *owner)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->activity.attempt;
    uint64_t wait_ms =
        breaker_ask_kept(&attempt->endpoint->breaker, attempt_now_ms(attempt));
    if (wait_ms > BRIEF_MS && attempt->endpoint->fallback)
        return do_without(turn);
    if (wait_ms > 0)
        return turn_await_endpoint(turn, wait_ms, TURN_RETRIEVING);
    turn->asks_endpoint = true;
    fetch(turn);
    return WAIT;
}
