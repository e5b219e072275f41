/* model_turn.c - asks the model for its next message: ask, listen, journal. */
#include "consumer/activity/model_turn.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/ask.h"
#include "consumer/conversation/calls.h"
#include "consumer/conversation/tools.h"
#include "consumer/conversation/window.h"
#include "consumer/model/reply_json.h"
#include "consumer/numbers.h"
#include "consumer/queue/fleet.h"
#include "schemas/message/glyph.h"
#include "schemas/message/limits.h"
#include "schemas/service/log.h"

enum { EVENT_TEXT_BYTES = 48 << 10 }; /* of the text, in message.completed */

static const struct activity_kind kind;

struct model_turn *model_turn_of(struct activity *activity)
{
    bool is_it = activity && activity->kind == &kind &&
                 activity->end == ACTIVITY_GOES_ON;
    return is_it ? (struct model_turn *)activity : NULL;
}

enum pace turn_go(struct model_turn *turn, enum model_turn_state next)
{
    return machine_go(&turn->activity.machine, next);
}

static struct fleet_endpoints *shared_of(const struct model_turn *turn)
{
    return fleet_endpoints(turn->activity.attempt->consumer->fleet);
}

static uint64_t next_turn(const struct model_turn *turn)
{
    return turn->activity.attempt->conversation.turn + 1;
}

bool turn_summarises(const struct model_turn *turn)
{
    return turn->activity.attempt->conversation.summary.due;
}

static int purpose_of(const struct model_turn *turn)
{
    return turn_summarises(turn) ? PURPOSE_SUMMARY : PURPOSE_TURN;
}

static void on_journaled(void *owner, const redisReply *reply)
{
    struct model_turn *turn = owner;
    if (turn->activity.machine.state == TURN_ASKING)
        spend_is_barred(turn, reply);
    activity_land(&turn->activity);
}

/* type: of the event; NULL: none. */
static enum pace turn_write_record(struct model_turn *turn, struct buf *record,
                                   const struct spend *spend, const char *type,
                                   const struct event_data *data)
{
    struct journal_entry entry = { record, spend, type, data };
    journal_write(&turn->activity.attempt->journal, &entry, on_journaled, turn);
    return WAIT;
}

/* ---------------------------------------------------------------- hearing */

void turn_begin_items(struct model_turn *turn)
{
    turn->message_item = turn->reasoning_item = 0;
}

struct event_data turn_message_event(struct model_turn *turn)
{
    if (turn->message_item == 0)
        turn->message_item = attempt_new_item(turn->activity.attempt);
    return (struct event_data){ .turn = next_turn(turn),
                                .item = turn->message_item };
}

struct event_data turn_reasoning_event(struct model_turn *turn)
{
    if (turn->reasoning_item == 0)
        turn->reasoning_item = attempt_new_item(turn->activity.attempt);
    return (struct event_data){ .turn = next_turn(turn),
                                .item = turn->reasoning_item };
}

/* The first piece of the reply. */
static void turn_hear(struct model_turn *turn)
{
    const struct attempt *attempt = turn->activity.attempt;
    if (turn->heard)
        return;
    turn->heard = true;
    spans_first(&turn->chat);
    metric_observe(NUMBER_MODEL_FIRST_TOKEN,
                   (double)(attempt_now_ms(attempt) - turn->asked_ms) / 1000,
                   LABELS(view_of(attempt->endpoint->name)));
}

static void on_text(void *owner, struct view text)
{
    struct model_turn *turn = owner;
    turn_hear(turn);
    struct event_data about = turn_message_event(turn);
    progress_text(&turn->activity.attempt->progress, "message.delta", &about,
                  text);
    early_session_hear(turn, text);
}

static void on_reasoning(void *owner, struct view text)
{
    struct model_turn *turn = owner;
    turn_hear(turn);
    struct event_data about = turn_reasoning_event(turn);
    progress_text(&turn->activity.attempt->progress, "reasoning.delta", &about,
                  text);
}

static void on_call(void *owner, struct view tool)
{
    struct model_turn *turn = owner;
    turn_hear(turn);
    early_session_call(turn, tool);
}

/* The item of the reply's text; 0: the reply has none, whatever was streamed:
 * it may have been calls. */
static uint64_t message_item(struct model_turn *turn, const json_t *message)
{
    if (turn_summarises(turn) ||
        glyph_is_blank(reply_json_text(message, "content")))
        return 0;
    return turn_message_event(turn).item;
}

/* The number of the first call of a function; the others get the next ones when
 * the reply is applied. 0: it calls none. */
static uint64_t function_item(struct model_turn *turn, const json_t *message)
{
    struct attempt *attempt = turn->activity.attempt;
    size_t i;
    json_t *call;
    json_array_foreach(json_object_get(message, "tool_calls"), i, call) {
        const json_t *function = json_object_get(call, "function");
        if (!turn_summarises(turn) &&
            tools_function(&attempt->job, reply_json_text(function, "name")))
            return attempt_new_item(attempt);
    }
    return 0;
}

/* ---------------------------------------------------------------- counting */

static void count_tokens(struct view endpoint, const char *name, uint64_t count)
{
    metric_add(NUMBER_MODEL_TOKENS, (double)count,
               LABELS(endpoint, view_of(name)));
}

static void count_usage(const struct model_turn *turn,
                        const struct usage *usage)
{
    struct view endpoint = view_of(turn->activity.attempt->endpoint->name);
    count_tokens(endpoint, "input", usage->input_tokens);
    count_tokens(endpoint, "output", usage->output_tokens);
    count_tokens(endpoint, "cache_read", usage->cached_tokens);
    count_tokens(endpoint, "cache_write", usage->cache_write_tokens);
    count_tokens(endpoint, "estimated", usage->uncounted_tokens);
    metric_add(NUMBER_MODEL_COST, (double)usage->cost / 1e6, LABELS(endpoint));
}

/* NULL: a reply came. */
static const char *request_outcome(const struct model_failure *failure)
{
    if (!failure)
        return "ok";
    if (failure->late)
        return "timeout";
    if (failure->http_status == 429)
        return "rate_limited";
    if (failure->http_status == 503 || failure->http_status == 529)
        return "overloaded";
    if (strcmp(failure->why.code, "model_cut") == 0)
        return "cut";
    return strcmp(failure->why.code, "model_refused") == 0 ? "refused"
                                                           : "error";
}

static void count_request(const struct model_turn *turn,
                          const struct model_failure *failure)
{
    const struct attempt *attempt = turn->activity.attempt;
    struct view endpoint = view_of(attempt->endpoint->name);
    double took_s = (double)(attempt_now_ms(attempt) - turn->asked_ms) / 1000;
    metric_add(NUMBER_MODEL_REQUESTS, 1,
               LABELS(endpoint, view_of(request_outcome(failure))));
    if (!failure)
        metric_observe(NUMBER_MODEL_REQUEST, took_s, LABELS(endpoint));
}

/* --------------------------------------------------------- what came of it */

/* The reply is gone after this call: so its record is composed at once, and
 * written in RECORDING. */
void turn_take_reply(struct model_turn *turn, const struct model_reply *reply)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct terms terms = attempt_terms(attempt);
    json_t *read = reply->truncated
                       ? json_incref(reply->message)
                       : text_calls_read(reply->message, &terms, &attempt->job);
    char *message = json_dumps(read, JSON_COMPACT);
    struct record record = {
        .kind = RECORD_MODEL_REPLY,
        .attempt = attempt->origin.number,
        .span = view_of(attempt->spans.digits),
        .turn = next_turn(turn),
        .purpose = purpose_of(turn),
        .message = view_of(message),
        .finish_reason = view_head(reply->finish_reason, MAX_NAME_BYTES),
        .usage = spend_usage(turn, reply),
        .model = view_of(attempt->endpoint->name),
        .ms = attempt_now_ms(attempt) - turn->asked_ms,
        .item = message_item(turn, read),
        .reasoning_item = turn->reasoning_item,
        .function_item = function_item(turn, read),
    };
    struct err err;
    count_usage(turn, &record.usage);
    turn->message_item = record.item;
    turn->spent = spend_settle(turn, &record.usage);
    turn->usage = (struct model_usage){
        .name = record.model,
        .input_tokens = record.usage.input_tokens,
        .output_tokens = record.usage.output_tokens,
        .cached_tokens = record.usage.cached_tokens,
        .cache_write_tokens = record.usage.cache_write_tokens,
        .uncounted_tokens = record.usage.uncounted_tokens,
        .cost = record.usage.cost,
        .model_calls = record.usage.model_calls,
    };
    turn->has_summary = summary_is_in(read);
    if (reply->dropped_calls > 0 && record.purpose == PURPOSE_TURN)
        record.observation = view_of(prompt_cut);
    buf_finish(&turn->record);
    if (!journal_encode(&record, &turn->record, &err))
        activity_fail(&turn->activity, &err);
    free(message);
    json_decref(read);
    buf_finish(&attempt->partial); /* there is a whole reply now */
    buf_finish(&turn->text);
    buf_init(&turn->text, EVENT_TEXT_BYTES);
    buf_add(&turn->text, view_head(reply->text, EVENT_TEXT_BYTES));
    retrieve_forget(turn);
}

void turn_count(struct model_turn *turn, enum endpoint_count what)
{
    const struct model_endpoint *endpoint = turn->activity.attempt->endpoint;
    struct view name = view_of(endpoint->name);
    fleet_endpoints_count(shared_of(turn), endpoint, what);
    if (what == COUNT_PAID_TWICE)
        metric_add(NUMBER_MODEL_PAID_TWICE, 1, LABELS(name));
    else if (what == COUNT_RECOVERED)
        metric_add(NUMBER_MODEL_RECOVERED, 1, LABELS(name));
}

/* The endpoint wants to be left alone: other consumers must know. */
static void on_wait(void *owner)
{
    struct model_turn *turn = owner;
    fleet_endpoints_tell_wait(shared_of(turn),
                              turn->activity.attempt->endpoint);
}

/* A refusal of the request (ERR_REJECT) shows that the endpoint itself is well.
 * The breaker counts only failures for which the endpoint does not say when to
 * come back. */
void turn_tell_endpoint(struct model_turn *turn,
                        const struct model_failure *failure)
{
    struct attempt *attempt = turn->activity.attempt;
    struct breaker *breaker = &attempt->endpoint->breaker;
    uint64_t now = attempt_now_ms(attempt);
    turn->asks_endpoint = false;
    if (!failure || failure->why.kind == ERR_REJECT)
        breaker_well(breaker);
    else if (failure->retry_after_ms == 0 &&
             strcmp(failure->why.code, "model_unavailable") == 0)
        breaker_failed(breaker, now);
    else
        breaker_dropped(breaker);
    if (failure && failure->why.kind == ERR_RETRY)
        breaker_wait(breaker, now, failure->retry_after_ms);
    /* A request that is changed and made again at once has not failed yet. */
    if (!failure || !(failure->anew || failure->blind))
        fleet_endpoints_count_end(shared_of(turn), attempt->endpoint,
                                  failure ? &failure->why : NULL);
    on_wait(turn);
}

/* What has come of the request, as a span. Both NULL: it is given up. */
static void tell_chat(struct model_turn *turn, const struct model_reply *reply,
                      const struct model_failure *failure)
{
    struct attempt *attempt = turn->activity.attempt;
    struct chat_told told = { .endpoint = attempt->endpoint,
                              .summary = turn_summarises(turn) };
    if (reply) {
        told.usage = &reply->usage;
        told.finish_reason = reply->finish_reason;
        told.message = reply->message;
    } else {
        told.usage = failure ? &failure->usage : NULL;
        told.why = failure ? &failure->why : spans_given_up(attempt);
        told.http_status = failure ? failure->http_status : 0;
    }
    spans_chat(attempt, &turn->chat, &told);
}

void turn_drop_call(struct model_turn *turn)
{
    early_session_end(turn);
    tell_chat(turn, NULL, NULL);
    model_call_free(turn->call);
    turn->call = NULL;
    retrieve_stop(turn);
    if (turn->asks_endpoint)
        breaker_dropped(&turn->activity.attempt->endpoint->breaker);
    turn->asks_endpoint = false;
}

/* If the job is stopped before it asks again, what people have seen of a reply
 * that broke off is its answer. */
static void keep_partial(struct model_turn *turn)
{
    struct buf *partial = &turn->activity.attempt->partial;
    if (!turn->call) /* what an earlier call has left stands */
        return;
    struct view text =
        turn_summarises(turn) ? VIEW("") : model_call_text(turn->call);
    buf_finish(partial);
    buf_init(partial, text.len);
    buf_add(partial, text);
}

static void on_kept(void *owner, struct view id)
{
    retrieve_keep(owner, id);
}

static void on_model_done(void *owner, const struct model_reply *reply,
                          const struct model_failure *failure)
{
    struct model_turn *turn = owner;
    early_session_end(turn);
    count_request(turn, failure);
    tell_chat(turn, reply, failure);
    turn_tell_endpoint(turn, failure);
    turn->failure = (struct model_failure){ 0 };
    if (failure)
        turn->failure = *failure;
    else
        turn_take_reply(turn, reply);
    activity_land(&turn->activity);
}

/* ------------------------------------------------------------- endpoints */

/* Goes over to the endpoint's fallback, for the rest of the attempt. False:
 * there is none, or it may not be asked by this job. */
static bool fall_back(struct model_turn *turn, const char *why)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct consumer *consumer = attempt->consumer;
    const char *name = attempt->endpoint->fallback;
    struct model_endpoint *next =
        !name ? NULL
              : endpoints_take(&consumer->endpoints, view_of(name), NULL);
    struct terms terms = attempt_terms(attempt);
    terms.endpoint = next;
    if (!next || !decide_may_ask(&attempt->conversation, &terms, NULL)) {
        endpoint_free(next);
        return false;
    }
    log_job_line(ATTEMPT_LOG(attempt), "model.fallback", "{s:s, s:s, s:s}",
                 "from", attempt->endpoint->name, "to", name, "why", why);
    endpoint_free(attempt->endpoint);
    attempt->endpoint = next;
    images_drop(turn); /* they were chosen for the other one */
    attempt->retries.tries = 0;
    return true;
}

/* Finds an endpoint that may be asked now: the attempt's, or a fallback.
 * Returns 0, or for how long none may be asked: all have failed, or want to be
 * left alone. */
static uint64_t find_endpoint(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    uint64_t wait, now = attempt_now_ms(attempt);
    struct breaker *breaker = &attempt->endpoint->breaker;
    if (turn->asks_endpoint && breaker_waits(breaker, now) == 0)
        return 0;
    if (turn->asks_endpoint) /* since then it has asked to be left alone */
        breaker_dropped(breaker);
    turn->asks_endpoint = false;
    fleet_endpoints_look(shared_of(turn));
    while ((wait = breaker_ask(&attempt->endpoint->breaker, now)) > 0)
        if (wait <= BRIEF_MS ||
            !fall_back(turn, "it is left alone after failures"))
            return wait;
    turn->asks_endpoint = true;
    return 0;
}

enum pace turn_await_endpoint(struct model_turn *turn, uint64_t wait_ms,
                              enum model_turn_state resume)
{
    struct attempt *attempt = turn->activity.attempt;
    struct err why;
    err_set(&why, ERR_RETRY, "model_unavailable",
            "model %s: it is left alone for %llu ms, after failures or because "
            "it has asked for that",
            attempt->endpoint->name, (unsigned long long)wait_ms);
    enum delay delay = wait_rest(attempt, &why, wait_ms, VIEW("endpoint"));
    return turn_delay(turn, delay, &why, resume);
}

/* --------------------------------------------------------------- refusing */

static enum pace refuse_request(struct model_turn *turn,
                                enum after_refusal then)
{
    turn->then = then;
    return turn_go(turn, TURN_REFUSING);
}

/* REQUESTING sends a request that is in the journal already. Before the job
 * ends or leaves this consumer, the journal must say that it was not paid for.
 */
enum pace turn_delay(struct model_turn *turn, enum delay delay,
                     const struct err *why, enum model_turn_state resume)
{
    bool stands = resume == TURN_REQUESTING; /* in the journal, not paid for */
    if (stands && delay == DELAY_NONE) {
        turn->failure.why = *why;
        return refuse_request(turn, THEN_FAIL);
    }
    if (stands && delay == DELAY_IN_QUEUE) {
        turn_drop_call(turn);
        return refuse_request(turn, THEN_PARK);
    }
    return activity_delay(&turn->activity, delay, why, resume);
}

/* Makes another request, and so another intent. Before it the journal says that
 * the last one came to nothing, unless that is not known. */
static enum pace ask_anew(struct model_turn *turn, bool unknown)
{
    turn->activity.attempt->retries.wait_ms = 0;
    return unknown ? turn_go(turn, TURN_ASKING)
                   : refuse_request(turn, THEN_ASK);
}

/* Writes a model_intent that is "failed": the next attempt knows then that the
 * request was not paid for, or what it has cost. In the same step the
 * reservation of the tenant is settled. */
static enum pace enter_refusing(void *owner)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->activity.attempt;
    bool books = turn->then == THEN_JUDGE;
    struct record refusal = { .kind = RECORD_MODEL_INTENT,
                              .attempt = attempt->origin.number,
                              .span = view_of(attempt->spans.digits),
                              .turn = next_turn(turn),
                              .purpose = purpose_of(turn),
                              .failed = true,
                              .counted = turn->failure.counted };
    struct buf bytes;
    struct err err;
    turn->failure.counted = 0; /* of this request, not of the next one */
    if (books) {
        refusal.model = view_of(attempt->endpoint->name);
        refusal.usage = spend_failure(turn);
        count_usage(turn, &refusal.usage);
    }
    if (!journal_encode(&refusal, &bytes, &err))
        return activity_fail(&turn->activity, &err);
    struct event_data data = { .error = result_error_of(&turn->failure.why),
                               .wait_ms = attempt->retries.wait_ms };
    struct spend taken = spend_settle(turn, &refusal.usage);
    taken.priced |= refusal.usage.model_calls == 0; /* nothing costs nothing */
    bool tells =
        (turn->then == THEN_ASK || turn->then == THEN_PARK) && !turn->forgoing;
    return turn_write_record(turn, &bytes, &taken,
                             tells ? "job.retrying" : NULL, &data);
}

static enum pace step_refused(void *owner)
{
    struct model_turn *turn = owner;
    switch (turn->then) {
    case THEN_JUDGE: /* settled: it must not be written a second time */
        turn->failure.usage = (struct usage){ 0 };
        return turn_judge_failure(turn);
    case THEN_ASK:
        return turn_go(turn, TURN_ASKING);
    case THEN_PARK:
        return activity_park(&turn->activity);
    case THEN_FAIL:
        return activity_fail(&turn->activity, &turn->failure.why);
    case THEN_STOP:
        break;
    }
    return activity_done(&turn->activity);
}

/* ----------------------------------------------------------------- asking */

static bool make_call(struct model_turn *turn, enum ask_kind ask_kind,
                      struct err *err)
{
    static const struct model_events events = { .on_text = on_text,
                                                .on_reasoning = on_reasoning,
                                                .on_call = on_call,
                                                .on_kept = on_kept,
                                                .on_wait = on_wait,
                                                .on_done = on_model_done };
    /* Followers hear nothing of a summary as it comes. */
    static const struct model_events unheard = { .on_kept = on_kept,
                                                 .on_wait = on_wait,
                                                 .on_done = on_model_done };
    struct attempt *attempt = turn->activity.attempt;
    struct terms terms = attempt_terms(attempt);
    const struct request_context context = images_context(turn, ask_kind);
    struct model_plan *plan = &turn->plan;
    bool made =
        decide_request(&attempt->conversation, &terms, &context, plan, err);
    spans_prepare(attempt, &turn->chat, spans_parent(attempt));
    plan->request.trace = spans_trace(attempt, &turn->chat);
    if (made)
        spans_messages(attempt, &turn->chat, plan->content.messages);
    if (made)
        turn->call = model_call_new(
            attempt->consumer->http, attempt->endpoint, &plan->request,
            plan->purpose == PURPOSE_SUMMARY ? unheard : events, turn, err);
    json_decref(plan->content.messages);
    plan->content.messages = NULL;
    return turn->call;
}

/* The terms are written only when they differ from those of the last intent.
 * The pictures are let go: the call has what it needs of them, and they would
 * take memory while it waits for its reply. */
static bool encode_asking(struct model_turn *turn, struct record *record,
                          struct buf *bytes)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct conversation *conversation = &attempt->conversation;
    struct terms terms = attempt_terms(attempt);
    CLEANUP(buf_finish) struct buf text;
    struct view blobs[MAX_SHOWN];
    struct err err;
    record->kind = RECORD_MODEL_INTENT;
    record->attempt = attempt->origin.number;
    record->span = view_of(attempt->spans.digits);
    record->turn = next_turn(turn);
    record->history = conversation->said_of;
    if (record->purpose == PURPOSE_TURN)
        record->shown = images_blobs(turn, blobs);
    terms_write(&terms, conversation, &text);
    if (!conversation_knows(conversation, buf_view(&text)))
        record->terms = buf_view(&text);
    bool fits = journal_encode(record, bytes, &err);
    images_drop(turn);
    if (!fits)
        activity_fail(&turn->activity, &err);
    return fits;
}

/* Not even an answer fits into what the job's limits leave. That is no fault:
 * writes so, and the job ends with the best answer that it has. */
static enum pace write_limit(struct model_turn *turn)
{
    struct record record = { .last = view_of(turn->plan.bounds.limit),
                             .failed = true };
    struct buf bytes;
    turn_drop_call(turn);
    return encode_asking(turn, &record, &bytes)
               ? turn_write_record(turn, &bytes, NULL, NULL, NULL)
               : WAIT;
}

static enum pace write_intent(struct model_turn *turn)
{
    const struct model_plan *plan = &turn->plan;
    const char *hash = model_call_hash(turn->call);
    struct attempt *attempt = turn->activity.attempt;
    struct record record = {
        .purpose = (int)plan->purpose,
        .last = view_of(plan->last),
        .model = view_of(attempt->endpoint->name),
        .reserved = plan->bounds.reserved,
        .reply = attempt->job.limits.max_output_tokens > 0
                     ? decide_reply_tokens(plan)
                     : 0,
        .cost = plan->bounds.cost,
        .kept = plan->content.kept,
        .tokens = plan->content.tokens,
        .hash = view_of(hash),
    };
    struct buf bytes;
    snprintf(turn->hash, sizeof(turn->hash), "%s", hash);
    retrieve_forget(turn); /* the reply of an earlier request */
    buf_finish(&attempt->partial);
    turn->twice = attempt->conversation.spending.asked;
    if (!encode_asking(turn, &record, &bytes))
        return WAIT;
    struct event_data data = { .turn = next_turn(turn) };
    const struct spend spend = spend_reserve(turn);
    turn_begin_items(turn);
    return turn_write_record(turn, &bytes, &spend,
                             plan->purpose == PURPOSE_SUMMARY
                                 ? "history.summarising"
                                 : "turn.started",
                             &data);
}

/* Writes that there will be no summary: what it was to stand for is left out,
 * and none is asked for before more has to be left out. What its request has
 * cost, or may have cost, counts as that of any other. */
static enum pace write_forgone(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct conversation *conversation = &attempt->conversation;
    const struct err *why = &turn->failure.why;
    struct record record = {
        .purpose = PURPOSE_SUMMARY,
        .failed = true,
        .last = view_of(why->code),
        .kept = conversation->summary.due ? conversation->summary.wanted
                                          : turn->plan.content.kept,
    };
    struct event_data data = { .turn = next_turn(turn),
                               .error = result_error_of(why) };
    struct buf bytes;
    log_job_line(ATTEMPT_LOG(attempt), "history.dropped", "{s:s, s:s}", "code",
                 why->code, "why", why->text);
    return encode_asking(turn, &record, &bytes)
               ? turn_write_record(turn, &bytes, NULL, "history.dropped", &data)
               : WAIT;
}

enum pace turn_forgo_summary(struct model_turn *turn, const struct err *why)
{
    turn->failure = (struct model_failure){ .why = *why };
    turn->forgoing = true;
    /* ASKING has landed with the refusal of the budget; it writes once more. */
    turn->activity.machine.landed = false;
    return write_forgone(turn);
}

/* The request cannot be made shorter: adds what the endpoint has said of it. */
static void add_sentence(struct err *err, const struct err *theirs)
{
    struct err ours = *err;
    if (strcmp(ours.code, "model_context") == 0 &&
        strcmp(theirs->code, "model_context") == 0)
        err_set(err, ours.kind, ours.code, "%s (%s)", ours.text, theirs->text);
}

static enum pace enter_asking(void *owner)
{
    struct model_turn *turn = owner;
    struct err err;
    if (turn->forgoing)
        return write_forgone(turn);
    uint64_t wait_ms = find_endpoint(turn);
    if (wait_ms > 0)
        return turn_await_endpoint(turn, wait_ms, TURN_ASKING);
    /* That the model does not see may have been learned while pictures were
     * read, by another attempt. */
    if (!attempt_sees(turn->activity.attempt))
        images_drop(turn);
    if (images_are_due(turn))
        return images_show(turn, TURN_ASKING);
    if (make_call(turn, turn->squeezing ? ASK_LESS : ASK_NEXT, &err))
        return write_intent(turn);
    if (!turn->plan.bounds.fits)
        return write_limit(turn);
    if (turn->squeezing)
        add_sentence(&err, &turn->failure.why);
    return activity_fail(&turn->activity, &err);
}

/* The record is in the journal, or the tenant's budget has refused it. */
static enum pace step_asked(void *owner)
{
    struct model_turn *turn = owner;
    if (turn->forgoing || !turn->plan.bounds.fits)
        return activity_done(&turn->activity);
    if (turn->barred)
        return spend_wait(turn);
    turn->squeezing = false;
    if (turn->twice)
        turn_count(turn, COUNT_PAID_TWICE);
    return turn_go(turn, TURN_REQUESTING);
}

/* ------------------------------------------------------------- requesting */

/* Whether the request is the one that the journal names. It may differ when it
 * had to be composed again: a picture may have expired since, or something have
 * been learned of the endpoint. */
static bool is_intended(const struct model_turn *turn)
{
    return strcmp(model_call_hash(turn->call), turn->hash) == 0;
}

static enum pace enter_requesting(void *owner)
{
    struct model_turn *turn = owner;
    turn->requested = false;
    return AGAIN;
}

/* Sends the request of the last intent; if that cannot be, begins a new one. */
static enum pace request(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct model_endpoint *before = attempt->endpoint;
    struct err err;
    uint64_t wait_ms = find_endpoint(turn);
    if (wait_ms > 0)
        return turn_await_endpoint(turn, wait_ms, TURN_REQUESTING);
    if (attempt->endpoint != before) {
        turn_drop_call(turn);
        return ask_anew(turn, false);
    }
    if (!turn->call && images_are_due(turn))
        return images_show(turn, TURN_REQUESTING);
    if (!turn->call && !make_call(turn, ASK_AGAIN, &err))
        return activity_fail(&turn->activity, &err);
    images_drop(turn);
    if (!is_intended(turn)) {
        turn_drop_call(turn);
        return ask_anew(turn, false);
    }
    turn->asked_ms = attempt_now_ms(attempt);
    turn->heard = false;
    turn_count(turn, COUNT_CALLS);
    spans_start(&turn->chat);
    model_call_start(turn->call);
    return WAIT;
}

/* An endpoint may have asked another consumer to wait. A reading of that was
 * begun by find_endpoint(), so it goes on while the intent is written. */
static enum pace step_requesting(void *owner)
{
    struct model_turn *turn = owner;
    if (turn->requested || fleet_endpoints_are_awaited(shared_of(turn)))
        return WAIT;
    turn->requested = true;
    return request(turn);
}

bool model_turn_is_held(const struct attempt *attempt)
{
    struct model_turn *turn = model_turn_of(attempt->activity);
    return turn && turn->activity.machine.state == TURN_REQUESTING &&
           !turn->requested;
}

static enum pace step_answered(void *owner)
{
    struct model_turn *turn = owner;
    const struct model_failure *failure = &turn->failure;
    if (failure->why.kind != ERR_NONE)
        keep_partial(turn);
    model_call_free(turn->call);
    turn->call = NULL;
    if (failure->why.kind == ERR_NONE)
        return turn_go(turn, TURN_RECORDING);
    if (failure->why.kind == ERR_RETRY && turn->retrieval)
        return turn_go(turn, TURN_RETRIEVING);
    return turn_judge_failure(turn);
}

/* ---------------------------------------------------------------- judging */

/* The request was too long for the model: first it goes without pictures, then
 * once a turn with less of the conversation. */
static enum pace squeeze(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    if (images_are_due(turn)) {
        attempt->blind = true;
        return ask_anew(turn, false);
    }
    turn->squeezing = attempt->squeezed = true;
    return ask_anew(turn, false);
}

/* A summary is worth as many tries as a turn, but the job does not fail for it.
 */
static bool is_forgone(const struct model_turn *turn)
{
    return turn_summarises(turn) &&
           wait_is_spent(turn->activity.attempt, &turn->failure.why);
}

enum pace turn_judge_failure(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    const struct model_failure *failure = &turn->failure;
    /* First of all what it has cost, whatever is decided then. */
    if (spend_failure(turn).model_calls > 0)
        return refuse_request(turn, THEN_JUDGE);
    attempt->blind = attempt->blind || failure->blind;
    if (failure->anew)
        return ask_anew(turn, false);
    if (strcmp(failure->why.code, "model_context") == 0 && !attempt->squeezed &&
        !turn_summarises(turn))
        return squeeze(turn);
    if (wait_is_spent(attempt, &failure->why) &&
        failure->why.kind == ERR_RETRY && fall_back(turn, failure->why.text))
        return ask_anew(turn, failure->unknown);
    if (is_forgone(turn)) {
        turn->forgoing = true;
        return ask_anew(turn, failure->unknown);
    }
    /* A request that may have been carried out needs a second intent, which
     * counts it; the second turn.started voids the pieces that followers have
     * heard. One that was surely not carried out is sent again as it is. */
    enum delay delay =
        wait_retry(attempt, &failure->why, failure->retry_after_ms);
    return turn_delay(turn, delay, &failure->why,
                      failure->unknown ? TURN_ASKING : TURN_REQUESTING);
}

/* -------------------------------------------------------------- recording */

static const char *answered_type(const struct model_turn *turn)
{
    if (!turn_summarises(turn))
        return "message.completed";
    return turn->has_summary ? "history.summarised" : "history.dropped";
}

static enum pace enter_recording(void *owner)
{
    struct model_turn *turn = owner;
    struct event_data data = { .turn = next_turn(turn),
                               .item = turn->message_item,
                               .text = buf_view(&turn->text),
                               .usage = turn->usage };
    turn->was_summary = turn_summarises(turn);
    return turn_write_record(turn, &turn->record, &turn->spent,
                             answered_type(turn), &data);
}

static enum pace step_recorded(void *owner)
{
    struct model_turn *turn = owner;
    struct attempt *attempt = turn->activity.attempt;
    attempt->retries.tries = 0;
    attempt->squeezed = attempt->squeezed && turn->was_summary;
    if (!turn->was_summary)
        attempt_tell_functions(attempt, 0);
    return activity_done(&turn->activity);
}

/* ---------------------------------------------------------------- machine */

/* The request stands in the journal, it is known that nothing was paid for it
 * (it was refused, or never sent), and it will not be sent any more. */
static bool owes_refusal(const struct model_turn *turn, enum stop_reason stop)
{
    const struct machine *machine = &turn->activity.machine;
    enum model_turn_state state = machine->state;
    bool intended = state == TURN_ASKING && machine->landed &&
                    turn->plan.bounds.fits && !turn->barred && !turn->forgoing;
    bool unsent =
        (state == TURN_REQUESTING && !turn->requested) ||
        (state == TURN_SHOWING && turn->shown_then == TURN_REQUESTING);
    bool refused =
        state == TURN_RESTING && turn->activity.resume == TURN_REQUESTING;
    return stop != STOP_FAULT && (intended || unsent || refused);
}

/* An intent that is on its way is waited for when the job is handed back, so
 * that the next attempt finds written that it came to nothing. */
static bool turn_stop(struct activity *activity, enum stop_reason stop)
{
    struct model_turn *turn = (struct model_turn *)activity;
    enum model_turn_state state = activity->machine.state;
    bool asks = state == TURN_ASKING && !activity->machine.landed &&
                journal_is_busy(&activity->attempt->journal);
    bool owes = owes_refusal(turn, stop);
    if ((state == TURN_REFUSING && turn->then == THEN_STOP) ||
        (stop == STOP_RELEASE && asks))
        return false;
    if (stop != STOP_RELEASE) {
        retrieve_cancel(turn);
        keep_partial(turn);
    }
    turn_drop_call(turn);
    if (owes)
        refuse_request(turn, THEN_STOP);
    return !owes;
}

/* The session is ready, or could not be made so: then the cell tries again. */
static void turn_session_ended(struct activity *activity)
{
    struct model_turn *turn = (struct model_turn *)activity;
    turn->early_session.readying = false;
}

static void turn_free(struct activity *activity)
{
    struct model_turn *turn = (struct model_turn *)activity;
    journal_forget(&activity->attempt->journal, turn);
    turn_drop_call(turn);
    retrieve_forget(turn);
    images_drop(turn);
    buf_finish(&turn->record);
    buf_finish(&turn->text);
    free(turn);
}

static enum pace enter_starting(void *owner)
{
    struct model_turn *turn = owner;
    return turn_go(turn, retrieve_finds(turn) ? TURN_RETRIEVING : TURN_ASKING);
}

#define ENDS (TO(TURN_REFUSING) | TO(TURN_RESTING))

static const struct machine_state states[TURN_STATES] = {
    [TURN_STARTING] = { "starting", TO(TURN_ASKING) | TO(TURN_RETRIEVING),
                        .enter = enter_starting },
    [TURN_ASKING] = { "asking", TO(TURN_SHOWING) | TO(TURN_REQUESTING) | ENDS,
                      .enter = enter_asking, .landed = step_asked,
                      .limit_ms = ACTIVITY_REDIS_MS },
    [TURN_SHOWING] = { "showing",
                       TO(TURN_ASKING) | TO(TURN_REQUESTING) |
                           TO(TURN_REFUSING),
                       .enter = enter_showing, .step = step_showing,
                       .limit_ms = ACTIVITY_REDIS_MS },
    [TURN_REQUESTING] = { "requesting",
                          TO(TURN_ASKING) | TO(TURN_SHOWING) |
                              TO(TURN_RETRIEVING) | TO(TURN_RECORDING) | ENDS,
                          .enter = enter_requesting, .step = step_requesting,
                          .landed = step_answered,
                          .limit_ms = ACTIVITY_OTHERS_MS },
    [TURN_RETRIEVING] = { "retrieving",
                          TO(TURN_ASKING) | TO(TURN_RECORDING) | ENDS,
                          .enter = enter_retrieving, .landed = step_retrieved,
                          .limit_ms = ACTIVITY_OTHERS_MS },
    [TURN_RECORDING] = { "recording", 0, .enter = enter_recording,
                         .landed = step_recorded,
                         .limit_ms = ACTIVITY_REDIS_MS },
    [TURN_REFUSING] = { "refusing", TO(TURN_ASKING) | ENDS,
                        .enter = enter_refusing, .landed = step_refused,
                        .limit_ms = ACTIVITY_REDIS_MS },
    [TURN_RESTING] = { "resting",
                       TO(TURN_ASKING) | TO(TURN_REQUESTING) |
                           TO(TURN_RETRIEVING) | TO(TURN_REFUSING),
                       .landed = activity_rested },
};
static const struct activity_kind kind = {
    .machine = { "a model turn", states, TURN_STATES, activity_entered, NULL },
    .resting = TURN_RESTING,
    .stop = turn_stop,
    .on_session = turn_session_ended,
    .free = turn_free,
};

void model_turn_start(struct attempt *attempt)
{
    struct model_turn *turn = calloc(1, sizeof(*turn));
    if (!turn)
        abort();
    activity_init(&turn->activity, &kind, attempt);
    spans_turn(attempt);
}
