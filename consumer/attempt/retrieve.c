/* retrieve.c - a reply that its endpoint keeps is fetched before another one is
 * paid for. */
#include "consumer/attempt/retrieve.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/log.h"
#include "consumer/model/retrieval.h"
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
static struct retrieving *remember(struct attempt *attempt, struct view id)
{
    struct retrieving *retrieving = calloc(1, sizeof(*retrieving));
    if (retrieving == NULL)
        abort();
    memcpy(retrieving->id, id.data, id.len);
    retrieving->len = id.len;
    attempt->retrieving = retrieving;
    return retrieving;
}

void retrieve_stop(struct attempt *attempt)
{
    struct retrieving *retrieving = attempt->retrieving;
    if (retrieving == NULL)
        return;
    retrieval_free(retrieving->running);
    retrieving->running = NULL;
}

void retrieve_forget(struct attempt *attempt)
{
    struct retrieving *retrieving = attempt->retrieving;
    if (retrieving == NULL)
        return;
    retrieve_stop(attempt);
    if (retrieving->home != NULL) {
        if (attempt->asks_endpoint)
            breaker_dropped(&attempt->endpoint->breaker);
        attempt->asks_endpoint = false;
        endpoint_free(attempt->endpoint);
        attempt->endpoint = retrieving->home;
    }
    free(retrieving);
    attempt->retrieving = NULL;
}

void retrieve_cancel(struct attempt *attempt)
{
    if (attempt->retrieving == NULL)
        return;
    retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                     id_of(attempt->retrieving));
    retrieve_forget(attempt);
}

/* ------------------------------------------------------------- journaling */

/* Writes are carried out in order: the reply's comes behind it. */
void retrieve_keep(struct attempt *attempt, struct view id)
{
    struct record record = {
        .kind = RECORD_MODEL_SENT,
        .attempt = attempt->number,
        .turn = attempt->conversation.turn + 1,
        .purpose = attempt_summarises(attempt) ? PURPOSE_SUMMARY : PURPOSE_TURN,
        .model = view_of(attempt->endpoint->name),
        .reply_id = id,
    };
    struct buf bytes;
    struct journal_entry entry = { .record = &bytes };
    struct err err;
    if (attempt->retrieving != NULL)
        return; /* it has said so before */
    remember(attempt, id);
    if (!journal_encode(&record, &bytes, &err))
        abort(); /* all parts are bounded */
    journal_write(&attempt->journal, &entry, NULL, NULL);
}

/* -------------------------------------------------------------- taken over */

/* The endpoint that was asked, if it is still there. */
static struct model_endpoint *find_asked(const struct attempt *attempt)
{
    struct view name = view_of(attempt->conversation.spending.model);
    struct model_endpoint *asked =
        endpoints_take(&attempt->consumer->endpoints, name, NULL);
    if (asked != NULL && view_is(name, asked->name) &&
        retrieval_knows(asked, attempt->conversation.reply_id))
        return asked;
    endpoint_free(asked);
    return NULL;
}

bool retrieve_finds(struct attempt *attempt)
{
    const struct conversation *conversation = &attempt->conversation;
    struct model_endpoint *asked =
        conversation->reply_id.len > 0 ? find_asked(attempt) : NULL;
    if (asked == NULL)
        return false;
    struct retrieving *retrieving = remember(attempt, conversation->reply_id);
    retrieving->home = attempt->endpoint;
    attempt->endpoint = asked;
    attempt->asked_ms = attempt_now_ms(attempt);
    attempt->decided.asked.expected = conversation->sent;
    attempt->failure = (struct model_failure){ 0 };
    return true;
}

/* ---------------------------------------------------------------- hearing */

/* What was told of it before it broke off is void. */
static void tell(struct attempt *attempt, const char *type, struct view text)
{
    const struct event_data about = { .turn = attempt->conversation.turn + 1 };
    if (attempt_summarises(attempt))
        return;
    if (!attempt->retrieving->begun)
        progress_event(&attempt->progress, "turn.started", &about);
    attempt->retrieving->begun = true;
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
static void tell_endpoint(struct attempt *attempt, enum retrieved what,
                          const struct model_failure *failure)
{
    if (what == RETRIEVED_AWAY)
        attempt_tell_endpoint(attempt, failure);
    else
        breaker_dropped(&attempt->endpoint->breaker);
    attempt->asks_endpoint = false;
}

/* With the endpoint that has answered: as who has fallen back to it does. */
static void stay(struct attempt *attempt)
{
    endpoint_free(attempt->retrieving->home);
    attempt->retrieving->home = NULL;
}

static void on_done(void *owner, enum retrieved what,
                    const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct attempt *attempt = owner;
    struct retrieving *retrieving = attempt->retrieving;
    retrieving->what = what;
    if (failure != NULL)
        retrieving->failure = *failure;
    tell_endpoint(attempt, what, failure);
    log_line("model.retrieved", "{s:s, s:s, s:s, s:s}", "job", attempt->id,
             "model", attempt->endpoint->name, "reply",
             reply != NULL ? "fetched" : failure->why.code, "why",
             reply != NULL ? "" : failure->why.text);
    attempt->landed = true;
    if (reply != NULL) {
        stay(attempt);
        attempt_count(attempt, COUNT_RECOVERED);
        attempt_take_reply(attempt, reply); /* and it is forgotten */
    }
    attempt_run(attempt);
}

/* ---------------------------------------------------------------- deciding */

/* As it would have gone on without: after the failure, if there was one here,
 * and with as many tries. */
static enum turn do_without(struct attempt *attempt)
{
    if (attempt->retrieving->since_ms > 0)
        attempt->tries = attempt->retrieving->tries;
    retrieve_forget(attempt);
    return attempt->failure.why.kind == ERR_NONE
               ? attempt_go(attempt, ASKING)
               : attempt_judge_failure(attempt);
}

static uint64_t patience_ms(const struct attempt *attempt)
{
    uint64_t own = attempt->endpoint->total_ms;
    return own > 0 ? own : PATIENCE_MS;
}

/* One may also never be made: it is not waited for as long as the job lives,
 * and so not in the queue, where nobody would know since when. */
static enum turn ask_later(struct attempt *attempt)
{
    struct retrieving *retrieving = attempt->retrieving;
    uint64_t waited_ms = attempt_now_ms(attempt) - retrieving->since_ms;
    if (waited_ms >= patience_ms(attempt)) {
        retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                         id_of(retrieving));
        return do_without(attempt);
    }
    uint64_t pause = retrieving->pause_ms;
    retrieving->pause_ms =
        pause * 2 < MOST_PAUSE_MS ? pause * 2 : MOST_PAUSE_MS;
    return attempt_hold(attempt, &retrieving->failure.why, pause, RETRIEVING);
}

static enum turn judge(struct attempt *attempt)
{
    struct retrieving *retrieving = attempt->retrieving;
    if (retrieving == NULL)
        return attempt_go(attempt, ANSWERED);
    const struct model_failure failure = retrieving->failure;
    if (retrieving->what == RETRIEVED_UNFINISHED)
        return ask_later(attempt);
    if (retrieving->what == RETRIEVED_AWAY &&
        !attempt_is_spent(attempt, &failure.why))
        return attempt_retry(attempt, &failure.why, failure.retry_after_ms,
                             RETRIEVING);
    if (retrieving->what == RETRIEVED_BAD)
        attempt->failure = failure;
    return do_without(attempt);
}

static void fetch(struct attempt *attempt)
{
    static const struct retrieval_events events = {
        .on_text = on_text, .on_reasoning = on_reasoning, .on_done = on_done
    };
    struct retrieving *retrieving = attempt->retrieving;
    if (retrieving->since_ms == 0) {
        retrieving->since_ms = attempt_now_ms(attempt);
        retrieving->pause_ms = PAUSE_MS;
        retrieving->tries = attempt->tries;
    }
    retrieve_stop(attempt);
    retrieving->running =
        retrieval_new(attempt->consumer->http, attempt->endpoint,
                      id_of(retrieving), events, attempt);
}

enum turn step_retrieving(struct attempt *attempt)
{
    if (attempt->landed)
        return judge(attempt);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    uint64_t wait_ms =
        breaker_ask_kept(&attempt->endpoint->breaker, attempt_now_ms(attempt));
    if (wait_ms > ATTEMPT_BRIEF_MS && attempt->endpoint->fallback != NULL)
        return do_without(attempt);
    if (wait_ms > 0)
        return attempt_await_endpoint(attempt, wait_ms, RETRIEVING);
    attempt->asks_endpoint = true;
    fetch(attempt);
    return WAIT;
}
