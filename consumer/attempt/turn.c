/* turn.c - an attempt's side towards the model: ask, listen, journal. */
#include <stdlib.h>
#include <string.h>

#include "consumer/attempt/attempt.h"
#include "consumer/attempt/retrieve.h"
#include "consumer/conversation/prompt.h"
#include "consumer/conversation/summary.h"
#include "consumer/conversation/text_calls.h"
#include "consumer/log.h"
#include "consumer/queue/fleet.h"
#include "consumer/queue/profile.h"
#include "schemas/message/limits.h"

enum { EVENT_TEXT_BYTES = 48 << 10 };

static uint64_t next_turn(const struct attempt *attempt)
{
    return attempt->conversation.turn + 1;
}

bool attempt_summarises(const struct attempt *attempt)
{
    return attempt->conversation.summary.due;
}

static int purpose_of(const struct attempt *attempt)
{
    return attempt_summarises(attempt) ? PURPOSE_SUMMARY : PURPOSE_TURN;
}

/* ---------------------------------------------------------------- hearing */

static void on_text(void *owner, struct view text)
{
    struct attempt *attempt = owner;
    struct event_data about = { .turn = next_turn(attempt) };
    progress_text(&attempt->progress, "message.delta", &about, text);
    ahead_hear(attempt, text);
}

static void on_reasoning(void *owner, struct view text)
{
    struct attempt *attempt = owner;
    struct event_data about = { .turn = next_turn(attempt) };
    progress_text(&attempt->progress, "reasoning.delta", &about, text);
}

static void on_call(void *owner, struct view tool)
{
    ahead_call(owner, tool);
}

/* The reply is borrowed: it becomes the journal's record at once. */
void attempt_take_reply(struct attempt *attempt,
                        const struct model_reply *reply)
{
    const struct terms terms = attempt_terms(attempt);
    json_t *read = reply->truncated
                       ? json_incref(reply->message)
                       : text_calls_read(reply->message, &terms, &attempt->job);
    char *message = json_dumps(read, JSON_COMPACT);
    struct record record = {
        .kind = RECORD_MODEL_REPLY,
        .attempt = attempt->number,
        .turn = next_turn(attempt),
        .purpose = purpose_of(attempt),
        .message = view_of(message),
        .finish_reason = view_head(reply->finish_reason, MAX_NAME_BYTES),
        .usage = spend_usage(attempt, reply),
        .model = view_of(attempt->endpoint->name),
        .ms = attempt_now_ms(attempt) - attempt->asked_ms,
    };
    attempt->spent = spend_settle(attempt, &record.usage);
    attempt->has_summary = summary_is_in(read);
    if (reply->dropped_calls > 0 && record.purpose == PURPOSE_TURN)
        record.observation = view_of(prompt_cut);
    attempt_compose(attempt, &record);
    free(message);
    json_decref(read);
    buf_finish(&attempt->partial);
    buf_finish(&attempt->said);
    buf_init(&attempt->said, EVENT_TEXT_BYTES);
    buf_add(&attempt->said, view_head(reply->text, EVENT_TEXT_BYTES));
    retrieve_forget(attempt);
}

void attempt_count(struct attempt *attempt, enum endpoint_count what)
{
    profile_count(fleet_profile(attempt->consumer->fleet), attempt->endpoint,
                  what);
}

/* The others need not find out for themselves. */
static void on_learned(void *owner)
{
    struct attempt *attempt = owner;
    profile_tell(fleet_profile(attempt->consumer->fleet), attempt->endpoint);
}

/* What it says of the endpoint, not of the request. */
void attempt_tell_endpoint(struct attempt *attempt,
                           const struct model_failure *failure)
{
    struct breaker *breaker = &attempt->endpoint->breaker;
    uint64_t now = attempt_now_ms(attempt);
    attempt->asks_endpoint = false;
    if (failure == NULL || failure->why.kind == ERR_REJECT)
        breaker_well(breaker);
    else if (failure->retry_after_ms == 0 &&
             strcmp(failure->why.code, "model_unavailable") == 0)
        breaker_failed(breaker, now);
    else
        breaker_dropped(breaker);
    if (failure != NULL && failure->why.kind == ERR_RETRY)
        breaker_wait(breaker, now, failure->retry_after_ms);
    /* One that is made again at once, otherwise, has not failed yet. */
    if (failure == NULL || !(failure->anew || failure->blind))
        profile_ended(fleet_profile(attempt->consumer->fleet),
                      attempt->endpoint,
                      failure == NULL ? NULL : &failure->why);
    on_learned(attempt);
}

void attempt_drop_call(struct attempt *attempt)
{
    ahead_end(attempt);
    model_call_free(attempt->call);
    attempt->call = NULL;
    retrieve_stop(attempt);
    if (attempt->asks_endpoint)
        breaker_dropped(&attempt->endpoint->breaker);
    attempt->asks_endpoint = false;
}

static void on_kept(void *owner, struct view id)
{
    retrieve_keep(owner, id);
}

static void on_model_done(void *owner, const struct model_reply *reply,
                          const struct model_failure *failure)
{
    struct attempt *attempt = owner;
    ahead_end(attempt);
    attempt_tell_endpoint(attempt, failure);
    attempt->landed = true;
    attempt->failure = (struct model_failure){ 0 };
    if (failure != NULL)
        attempt->failure = *failure;
    else
        attempt_take_reply(attempt, reply);
    attempt_run(attempt);
}

/* ----------------------------------------------------------------- asking */

static bool make_call(struct attempt *attempt, enum ask_kind kind,
                      struct err *err)
{
    static const struct model_events events = { .on_text = on_text,
                                                .on_reasoning = on_reasoning,
                                                .on_call = on_call,
                                                .on_kept = on_kept,
                                                .on_learned = on_learned,
                                                .on_done = on_model_done };
    struct terms terms = attempt_terms(attempt);
    static const struct model_events unheard = { .on_kept = on_kept,
                                                 .on_learned = on_learned,
                                                 .on_done = on_model_done };
    const struct beside beside = attempt_beside(attempt, kind);
    struct decided *decided = &attempt->decided;
    if (decide_request(&attempt->conversation, &terms, &beside, decided, err))
        attempt->call = model_call_new(
            attempt->consumer->http, attempt->endpoint, &decided->request,
            decided->purpose == PURPOSE_SUMMARY ? unheard : events, attempt,
            err);
    json_decref(decided->asked.messages);
    decided->asked.messages = NULL;
    return attempt->call != NULL;
}

/* ------------------------------------------------------------- endpoints */

/* To the endpoint that is asked in its place, if there is one. */
static bool fall_back(struct attempt *attempt, const char *why)
{
    const struct consumer *consumer = attempt->consumer;
    const char *name = attempt->endpoint->fallback;
    struct model_endpoint *next =
        name == NULL
            ? NULL
            : endpoints_take(&consumer->endpoints, view_of(name), NULL);
    struct terms terms = attempt_terms(attempt);
    terms.endpoint = next;
    if (next == NULL || !decide_may_ask(&attempt->conversation, &terms, NULL)) {
        endpoint_free(next);
        return false;
    }
    log_line("model.fallback", "{s:s, s:s, s:s, s:s}", "job", attempt->id,
             "from", attempt->endpoint->name, "to", name, "why", why);
    endpoint_free(attempt->endpoint);
    attempt->endpoint = next;
    attempt_drop_pictures(attempt); /* they were chosen for the other one */
    attempt->tries = 0;
    return true;
}

/* How long nobody is to be asked: all have failed, or want us to wait. */
static uint64_t find_endpoint(struct attempt *attempt)
{
    uint64_t wait, now = attempt_now_ms(attempt);
    struct breaker *breaker = &attempt->endpoint->breaker;
    if (attempt->asks_endpoint && breaker_waits(breaker, now) == 0)
        return 0;
    if (attempt->asks_endpoint) /* somebody has been told meanwhile */
        breaker_dropped(breaker);
    attempt->asks_endpoint = false;
    profile_look(fleet_profile(attempt->consumer->fleet));
    while ((wait = breaker_ask(&attempt->endpoint->breaker, now)) > 0)
        if (wait <= ATTEMPT_BRIEF_MS ||
            !fall_back(attempt, "it is left alone after failures"))
            return wait;
    attempt->asks_endpoint = true;
    return 0;
}

enum turn attempt_await_endpoint(struct attempt *attempt, uint64_t wait_ms,
                                 enum attempt_state resume)
{
    struct err why;
    err_set(&why, ERR_RETRY, "model_unavailable",
            "model %s: it is left alone for %llu ms, after failures or because "
            "it has asked for that",
            attempt->endpoint->name, (unsigned long long)wait_ms);
    return attempt_rest(attempt, &why, wait_ms, VIEW("endpoint"), resume);
}

/* The terms only where they are news: most turns have those of the last. The
 * request is made by now, or none can be: its pictures are not held while it is
 * waited for. */
static bool compose_asking(struct attempt *attempt, struct record *record)
{
    const struct conversation *conversation = &attempt->conversation;
    struct terms terms = attempt_terms(attempt);
    CLEANUP(buf_finish) struct buf text;
    struct view blobs[MAX_SHOWN];
    record->kind = RECORD_MODEL_INTENT;
    record->attempt = attempt->number;
    record->turn = next_turn(attempt);
    record->history = conversation->said_of;
    if (record->purpose == PURPOSE_TURN)
        record->shown = attempt_shown(attempt, blobs);
    terms_write(&terms, conversation, &text);
    if (!conversation_knows(conversation, buf_view(&text)))
        record->terms = buf_view(&text);
    bool fits = attempt_compose(attempt, record);
    attempt_drop_pictures(attempt);
    return fits;
}

/* What does not fit into a limit is no fault: the job has its best answer. */
static enum turn write_limit(struct attempt *attempt)
{
    const struct event_data data = { 0 };
    struct record record = { .last = view_of(attempt->decided.plan.limit),
                             .failed = true };
    attempt_drop_call(attempt);
    if (!compose_asking(attempt, &record))
        return AGAIN;
    attempt_journal(attempt, NULL, &data);
    return WAIT;
}

static enum turn write_intent(struct attempt *attempt)
{
    const struct decided *decided = &attempt->decided;
    struct record record = {
        .purpose = (int)decided->purpose,
        .last = view_of(decided->last),
        .model = view_of(attempt->endpoint->name),
        .reserved = decided->plan.reserved,
        .cost = decided->plan.cost,
        .kept = decided->asked.kept,
        .tokens = decided->asked.tokens,
        .hash = view_of(model_call_hash(attempt->call)),
    };
    snprintf(attempt->hash, sizeof(attempt->hash), "%s",
             model_call_hash(attempt->call));
    retrieve_forget(attempt); /* of another request */
    buf_finish(&attempt->partial);
    attempt->twice = attempt->conversation.spending.asked;
    if (!compose_asking(attempt, &record))
        return AGAIN;
    struct event_data data = { .turn = next_turn(attempt) };
    const struct spend spend = spend_reserve(attempt);
    attempt_journal_spend(attempt, &spend,
                          decided->purpose == PURPOSE_SUMMARY
                              ? "history.summarising"
                              : "turn.started",
                          &data);
    return WAIT;
}

/* There is to be no summary: what it was to stand for is left out, and none is
 * asked for again before more has to be. What its request took, or may have
 * taken, is settled as that of any other. */
static enum turn write_forgone(struct attempt *attempt)
{
    const struct conversation *conversation = &attempt->conversation;
    const struct err *why = &attempt->failure.why;
    struct record record = {
        .purpose = PURPOSE_SUMMARY,
        .failed = true,
        .last = view_of(why->code),
        .kept = conversation->summary.due ? conversation->summary.wanted
                                          : attempt->decided.asked.kept,
    };
    struct event_data data = { .turn = next_turn(attempt),
                               .error = result_error_of(why) };
    log_line("history.dropped", "{s:s, s:s, s:s}", "job", attempt->id, "code",
             why->code, "why", why->text);
    if (!compose_asking(attempt, &record))
        return AGAIN;
    attempt_journal(attempt, "history.dropped", &data);
    return WAIT;
}

enum turn attempt_forgo_summary(struct attempt *attempt, const struct err *why)
{
    attempt->failure = (struct model_failure){ .why = *why };
    attempt->forgoing = true;
    attempt->landed = false;
    return write_forgone(attempt);
}

/* The step is in the journal, or was refused. */
static enum turn asked(struct attempt *attempt)
{
    if (attempt->forgoing) {
        attempt->forgoing = attempt->squeezing = attempt->barred = false;
        return attempt_go(attempt, DECIDING);
    }
    if (!attempt->decided.plan.fits)
        return attempt_go(attempt, DECIDING);
    if (attempt->barred)
        return spend_wait(attempt);
    attempt->squeezing = false;
    if (attempt->twice)
        attempt_count(attempt, COUNT_PAID_TWICE);
    return attempt_go(attempt, ANSWERING);
}

/* What the endpoint has said of the request that cannot be made shorter. */
static void add_sentence(struct err *err, const struct err *theirs)
{
    struct err ours = *err;
    if (strcmp(ours.code, "model_context") == 0 &&
        strcmp(theirs->code, "model_context") == 0)
        err_set(err, ours.kind, ours.code, "%s (%s)", ours.text, theirs->text);
}

enum turn step_asking(struct attempt *attempt)
{
    struct err err;
    if (attempt->landed)
        return asked(attempt);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    if (attempt->forgoing)
        return write_forgone(attempt);
    uint64_t wait_ms = find_endpoint(attempt);
    if (wait_ms > 0)
        return attempt_await_endpoint(attempt, wait_ms, ASKING);
    if (!attempt_sees(attempt)) /* that was learned while they were brought */
        attempt_drop_pictures(attempt);
    if (attempt_has_to_show(attempt))
        return attempt_show(attempt, ASKING);
    if (make_call(attempt, attempt->squeezing ? ASK_LESS : ASK_NEXT, &err))
        return write_intent(attempt);
    if (!attempt->decided.plan.fits)
        return write_limit(attempt);
    if (attempt->squeezing)
        add_sentence(&err, &attempt->failure.why);
    return attempt_fail(attempt, &err);
}

/* Another request, and so another intent: after a note that the last one came
 * to nothing, unless that is not known. */
static enum turn ask_anew(struct attempt *attempt, bool unknown)
{
    attempt->wait_ms = 0;
    attempt->resume = ASKING;
    return attempt_go(attempt, unknown ? ASKING : REFUSED);
}

/* Without pictures first. Then once a turn: what is too long then will not do
 * either. */
static enum turn squeeze(struct attempt *attempt)
{
    if (attempt_has_to_show(attempt)) {
        attempt->blind = true;
        return ask_anew(attempt, false);
    }
    attempt->squeezing = attempt->squeezed = true;
    return ask_anew(attempt, false);
}

/* A summary is worth the tries of a turn, but not the job. */
static bool is_forgone(const struct attempt *attempt)
{
    return attempt_summarises(attempt) &&
           attempt_is_spent(attempt, &attempt->failure.why);
}

enum turn attempt_judge_failure(struct attempt *attempt)
{
    const struct model_failure *failure = &attempt->failure;
    if (spend_failure(attempt, failure).model_calls > 0) {
        attempt->booking = true;
        return attempt_go(attempt, REFUSED);
    }
    attempt->blind = attempt->blind || failure->blind;
    if (failure->anew)
        return ask_anew(attempt, false);
    if (strcmp(failure->why.code, "model_context") == 0 && !attempt->squeezed &&
        !attempt_summarises(attempt))
        return squeeze(attempt);
    if (attempt_is_spent(attempt, &failure->why) &&
        failure->why.kind == ERR_RETRY && fall_back(attempt, failure->why.text))
        return ask_anew(attempt, failure->unknown);
    if (is_forgone(attempt)) {
        attempt->forgoing = true;
        return ask_anew(attempt, failure->unknown);
    }
    /* What may have been carried out is asked for anew: a second intent counts
     * it, a second turn.started voids the pieces that were heard. */
    return attempt_retry(attempt, &failure->why, failure->retry_after_ms,
                         failure->unknown ? ASKING : ANSWERING);
}

/* A picture may have expired since, or more been learned of the endpoint. */
static bool is_intended(const struct attempt *attempt)
{
    return strcmp(model_call_hash(attempt->call), attempt->hash) == 0;
}

/* What is sent is what the journal says. */
static enum turn ask_otherwise(struct attempt *attempt)
{
    attempt_drop_call(attempt);
    return ask_anew(attempt, false);
}

enum turn step_answering(struct attempt *attempt)
{
    struct err err;
    if (!attempt->begun &&
        profile_is_awaited(fleet_profile(attempt->consumer->fleet)))
        return WAIT;
    if (!attempt->begun) {
        attempt->begun = true;
        const struct model_endpoint *before = attempt->endpoint;
        uint64_t wait_ms = find_endpoint(attempt);
        if (wait_ms > 0)
            return attempt_await_endpoint(attempt, wait_ms, ANSWERING);
        if (attempt->endpoint != before)
            return ask_anew(attempt, false);
        if (attempt->call == NULL && attempt_has_to_show(attempt))
            return attempt_show(attempt, ANSWERING);
        if (attempt->call == NULL && !make_call(attempt, ASK_AGAIN, &err))
            return attempt_fail(attempt, &err);
        attempt_drop_pictures(attempt);
        if (!is_intended(attempt))
            return ask_otherwise(attempt);
        attempt->asked_ms = attempt_now_ms(attempt);
        attempt_count(attempt, COUNT_CALLS);
        model_call_start(attempt->call);
        return WAIT;
    }
    if (!attempt->landed)
        return WAIT;
    const struct model_failure *failure = &attempt->failure;
    if (failure->why.kind != ERR_NONE)
        attempt_keep_partial(attempt);
    model_call_free(attempt->call);
    attempt->call = NULL;
    if (failure->why.kind == ERR_NONE)
        return attempt_go(attempt, ANSWERED);
    if (failure->why.kind == ERR_RETRY && attempt->retrieving != NULL)
        return attempt_go(attempt, RETRIEVING);
    return attempt_judge_failure(attempt);
}

static const char *answered_type(const struct attempt *attempt)
{
    if (!attempt_summarises(attempt))
        return "message.completed";
    return attempt->has_summary ? "history.summarised" : "history.dropped";
}

enum turn step_answered(struct attempt *attempt)
{
    if (attempt->landed) {
        attempt->tries = 0;
        attempt->squeezed = attempt->squeezed && attempt->was_summary;
        return attempt_go(attempt, DECIDING);
    }
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    attempt->was_summary = attempt_summarises(attempt);
    struct event_data data = { .turn = next_turn(attempt),
                               .text = buf_view(&attempt->said) };
    attempt_journal_spend(attempt, &attempt->spent, answered_type(attempt),
                          &data);
    return WAIT;
}

/* Whatever comes of the failure now, its request is settled. */
static enum turn booked(struct attempt *attempt)
{
    attempt->booking = false;
    attempt->failure.usage = (struct usage){ 0 };
    return attempt_judge_failure(attempt);
}

/* The next attempt knows then that this request was not paid for, or what it
 * has cost. */
enum turn step_refused(struct attempt *attempt)
{
    if (attempt->landed && attempt->booking)
        return booked(attempt);
    if (attempt->landed && attempt->resume == SAVING)
        return attempt_fail(attempt, &attempt->failure.why);
    if (attempt->landed)
        return attempt_go(attempt,
                          attempt->resume == ASKING ? ASKING : PARKING);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    struct record refusal = { .kind = RECORD_MODEL_INTENT,
                              .attempt = attempt->number,
                              .turn = next_turn(attempt),
                              .purpose = purpose_of(attempt),
                              .failed = true,
                              .counted = attempt->failure.counted };
    attempt->failure.counted = 0; /* of this request, not of the next one */
    if (attempt->booking) {
        refusal.model = view_of(attempt->endpoint->name);
        refusal.usage = spend_failure(attempt, &attempt->failure);
    }
    if (!attempt_compose(attempt, &refusal))
        return AGAIN;
    struct event_data data = { .error = result_error_of(&attempt->failure.why),
                               .wait_ms = attempt->wait_ms };
    struct spend taken = spend_settle(attempt, &refusal.usage);
    taken.priced |= refusal.usage.model_calls == 0;
    bool tells =
        !attempt->booking && !attempt->forgoing && attempt->resume != SAVING;
    attempt_journal_spend(attempt, &taken, tells ? "job.retrying" : NULL,
                          &data);
    return WAIT;
}

enum turn step_pausing(struct attempt *attempt)
{
    return attempt->landed ? attempt_go(attempt, attempt->resume) : WAIT;
}
