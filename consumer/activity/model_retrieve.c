/* model_retrieve.c - fetches a reply that its endpoint keeps, before another
 * one is paid for. */
#include <stdlib.h>
#include <string.h>

#include "consumer/activity/model_turn.h"
#include "consumer/model/retrieval.h"
#include "schemas/message/limits.h"
#include "schemas/service/log.h"

enum {
    PAUSE_MS = 1000, /* before the second question; then doubled, up to: */
    MOST_PAUSE_MS = 10 * 1000,
    PATIENCE_MS = 600 * 1000, /* for all, where the endpoint has no total_ms */
    LEAST_TRIES = 3, /* also of a job whose requests may be tried less often */
};

/* A reply that its endpoint keeps, from when its id is known until it has come
 * or another request takes its place. */
struct reply_retrieval {
    char id[MAX_REPLY_ID_BYTES];
    size_t len;
    /* The attempt's own endpoint, while the one that was asked is in its place;
     * NULL: the attempt's is the one that was asked. */
    struct model_endpoint *home;
    struct retrieval *running;    /* NULL: nothing is being fetched */
    bool begun;                   /* followers have heard pieces of it */
    enum retrieval_outcome what;  /* what the last question has brought */
    struct model_failure failure; /* unless that was the reply */
    uint64_t since_ms; /* when it was asked for first, by the loop's clock; 0:
                          not yet */
    uint64_t pause_ms; /* before the next question */
    uint64_t tries;    /* attempt->retries.tries then: of the request itself */
    unsigned int away; /* how often the endpoint could not be asked */
    struct work_span fetch; /* the question that goes on */
};

static struct view id_of(const struct reply_retrieval *retrieval)
{
    return (struct view){ retrieval->id, retrieval->len };
}

/* id: at most MAX_REPLY_ID_BYTES, which model/ sees to. */
static struct reply_retrieval *retrieve_remember(struct model_turn *turn,
                                                 struct view id)
{
    struct reply_retrieval *retrieval = calloc(1, sizeof(*retrieval));
    if (!retrieval)
        abort();
    memcpy(retrieval->id, id.data, id.len);
    retrieval->len = id.len;
    turn->retrieval = retrieval;
    return retrieval;
}

/* What has come of a question, as a span. All NULL: it is given up. That the
 * reply is still being made is no failure. */
static void tell_fetch(struct model_turn *turn, const struct model_reply *reply,
                       const struct model_failure *failure)
{
    struct attempt *attempt = turn->activity.attempt;
    struct reply_retrieval *retrieval = turn->retrieval;
    struct chat_told told = { .endpoint = attempt->endpoint, .fetched = true };
    if (reply) {
        told.finish_reason = reply->finish_reason;
        told.message = reply->message;
    } else if (!failure) {
        told.why = spans_given_up(attempt);
    } else {
        bool unfinished = retrieval->what == RETRIEVED_UNFINISHED;
        told.why = unfinished ? NULL : &failure->why;
        told.http_status = unfinished ? 0 : failure->http_status;
    }
    spans_chat(attempt, &retrieval->fetch, &told);
}

void retrieve_stop(struct model_turn *turn)
{
    struct reply_retrieval *retrieval = turn->retrieval;
    if (!retrieval)
        return;
    tell_fetch(turn, NULL, NULL);
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
    const struct trace trace = spans_trace(attempt, &turn->retrieval->fetch);
    retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                     id_of(turn->retrieval), &trace);
    retrieve_forget(turn);
}

/* ------------------------------------------------------------- journaling */

/* Nobody waits for this record: if it is lost, the request is repeated, as
 * without an id. It stands before that of the reply, since writes keep their
 * order. */
void retrieve_keep(struct model_turn *turn, struct view id)
{
    struct attempt *attempt = turn->activity.attempt;
    struct record record = {
        .kind = RECORD_MODEL_SENT,
        .attempt = attempt->origin.number,
        .span = view_of(attempt->spans.digits),
        .turn = attempt->conversation.turn + 1,
        .purpose = turn_summarises(turn) ? PURPOSE_SUMMARY : PURPOSE_TURN,
        .model = view_of(attempt->endpoint->name),
        .reply_id = id,
    };
    struct buf bytes;
    struct journal_entry entry = { .record = &bytes };
    struct err err;
    if (turn->retrieval)
        return; /* endpoints may tell the id with each piece */
    retrieve_remember(turn, id);
    if (!journal_encode(&record, &bytes, &err))
        abort(); /* all parts are bounded */
    journal_write(&attempt->journal, &entry, NULL, NULL);
}

/* -------------------------------------------------------------- taken over */

/* The endpoint that was asked, if it is still configured; it may have been a
 * fallback. */
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
    struct reply_retrieval *retrieval =
        retrieve_remember(turn, conversation->reply_id);
    retrieval->home = attempt->endpoint;
    attempt->endpoint = asked;
    turn->asked_ms = attempt_now_ms(attempt);
    turn->plan.content.expected = conversation->sent;
    turn->failure = (struct model_failure){ 0 };
    return true;
}

/* ---------------------------------------------------------------- hearing */

/* Followers hear the reply from its beginning: the first turn.started says that
 * what they have heard of it before is void. */
static void retrieve_begin(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct event_data about = { .turn = attempt->conversation.turn + 1 };
    if (turn->retrieval->begun)
        return;
    turn->retrieval->begun = true;
    turn_begin_items(turn);
    progress_event(&attempt->progress, "turn.started", &about);
}

static void on_text(void *owner, struct view text)
{
    struct model_turn *turn = owner;
    if (turn_summarises(turn))
        return;
    retrieve_begin(turn);
    const struct event_data about = turn_message_event(turn);
    progress_text(&turn->activity.attempt->progress, "message.delta", &about,
                  text);
}

static void on_reasoning(void *owner, struct view text)
{
    struct model_turn *turn = owner;
    if (turn_summarises(turn))
        return;
    retrieve_begin(turn);
    const struct event_data about = turn_reasoning_event(turn);
    progress_text(&turn->activity.attempt->progress, "reasoning.delta", &about,
                  text);
}

/* That the endpoint has kept a reply does not show that it can make one now, so
 * an answer does not close its breaker. */
static void tell_endpoint(struct model_turn *turn, enum retrieval_outcome what,
                          const struct model_failure *failure)
{
    if (what == RETRIEVED_AWAY)
        turn_tell_endpoint(turn, failure);
    else
        breaker_dropped(&turn->activity.attempt->endpoint->breaker);
    turn->asks_endpoint = false;
}

/* The attempt stays with the endpoint that has answered, as after a fallback.
 */
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
    tell_fetch(turn, reply, failure);
    tell_endpoint(turn, what, failure);
    log_job_line(ATTEMPT_LOG(attempt), "model.retrieved", "{s:s, s:s, s:s}",
                 "model", attempt->endpoint->name, "reply",
                 reply ? "fetched" : failure->why.code, "why",
                 reply ? "" : failure->why.text);
    if (reply) {
        stay(turn);
        turn_count(turn, COUNT_RECOVERED);
        turn_take_reply(turn, reply); /* frees the retrieval */
    }
    activity_land(&turn->activity);
}

/* ---------------------------------------------------------------- deciding */

/* Goes on as if the endpoint did not keep the reply: judges the failure of the
 * request, if this attempt has seen one, with as many tries as it had then; or
 * sends the request again. */
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

/* The endpoint still makes the reply. It may never be done, so the wait is
 * bounded; and the job waits here, not in its queue, because the next attempt
 * would not know since when. */
static enum pace ask_later(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    struct reply_retrieval *retrieval = turn->retrieval;
    const struct trace trace = spans_trace(attempt, &retrieval->fetch);
    uint64_t waited_ms = attempt_now_ms(attempt) - retrieval->since_ms;
    if (waited_ms >= patience_ms(turn)) {
        retrieval_cancel(attempt->consumer->http, attempt->endpoint,
                         id_of(retrieval), &trace);
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
        (++retrieval->away < LEAST_TRIES ||
         !wait_is_spent(attempt, &failure.why)))
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
        /* A reply that is given up is paid for twice. */
        attempt->retries.tries = 0;
    }
    retrieve_stop(turn);
    spans_prepare(attempt, &retrieval->fetch, spans_parent(attempt));
    spans_start(&retrieval->fetch);
    const struct trace trace = spans_trace(attempt, &retrieval->fetch);
    retrieval->running =
        retrieval_new(attempt->consumer->http, attempt->endpoint,
                      id_of(retrieval), &trace, events, turn);
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
