/* turn.c - an attempt's side towards the model: ask, listen, journal. */
#include <stdlib.h>
#include <string.h>

#include "consumer/attempt/attempt.h"
#include "consumer/conversation/prompt.h"
#include "consumer/log.h"
#include "schemas/message/limits.h"

enum { EVENT_TEXT_BYTES = 48 << 10 };

static uint64_t next_turn(const struct attempt *attempt)
{
    return attempt->conversation.turn + 1;
}

/* ---------------------------------------------------------------- hearing */

static void on_text(void *owner, struct view text)
{
    struct attempt *attempt = owner;
    struct event_data about = { .turn = next_turn(attempt) };
    progress_text(&attempt->progress, "message.delta", &about, text);
}

static void on_reasoning(void *owner, struct view text)
{
    struct attempt *attempt = owner;
    struct event_data about = { .turn = next_turn(attempt) };
    progress_text(&attempt->progress, "reasoning.delta", &about, text);
}

/* The reply is borrowed: it becomes the journal's record at once. */
static void compose_reply(struct attempt *attempt,
                          const struct model_reply *reply)
{
    char *message = json_dumps(reply->message, JSON_COMPACT);
    struct record record = {
        .kind = RECORD_MODEL_REPLY,
        .attempt = attempt->number,
        .turn = next_turn(attempt),
        .message = view_of(message),
        .finish_reason = view_head(reply->finish_reason, MAX_NAME_BYTES),
        .usage = reply->usage,
        .ms = attempt_now_ms(attempt) - attempt->asked_ms,
    };
    record.usage.model_calls = 1;
    if (reply->dropped_calls > 0)
        record.observation = view_of(prompt_cut);
    attempt_compose(attempt, &record);
    free(message);
    buf_finish(&attempt->said);
    buf_init(&attempt->said, EVENT_TEXT_BYTES);
    buf_add(&attempt->said, view_head(reply->text, EVENT_TEXT_BYTES));
}

static void on_model_done(void *owner, const struct model_reply *reply,
                          const struct model_failure *failure)
{
    struct attempt *attempt = owner;
    attempt->landed = true;
    attempt->failure = (struct model_failure){ 0 };
    if (failure != NULL)
        attempt->failure = *failure;
    else
        compose_reply(attempt, reply);
    attempt_run(attempt);
}

/* ----------------------------------------------------------------- asking */

static uint64_t least(uint64_t wish, uint64_t most)
{
    return wish == 0 || (most != 0 && wish > most) ? most : wish;
}

/* Why this turn is to be an answer; "": it need not be. */
static const char *last_reason(const struct attempt *attempt)
{
    const struct settings *settings = &attempt->consumer->settings;
    const struct conversation *conversation = &attempt->conversation;
    uint64_t most = least(attempt->job.limits.max_turns, settings->max_turns);
    if (conversation->turn >= most)
        return "turn_limit";
    if (brake_before(conversation->deeds, conversation->result_count, 0,
                     settings->repeats) == BRAKE_LAST)
        return "loop";
    return "";
}

static bool make_call(struct attempt *attempt, struct err *err)
{
    static const struct model_events events = { .on_text = on_text,
                                                .on_reasoning = on_reasoning,
                                                .on_done = on_model_done };
    const struct ask ask = {
        .prompts = &attempt->consumer->prompts,
        .functions = buf_view(&attempt->functions),
        .tools = attempt->tools,
        .window = attempt->endpoint->window,
        .last = *last_reason(attempt) != '\0',
        .squeeze = attempt->squeezing,
    };
    if (!ask_write(&attempt->conversation, &ask, &attempt->asked_for, err))
        return false;
    struct model_request request = {
        .messages = attempt->asked_for.messages,
        .tools = attempt->tools,
        .last = ask.last,
        .max_tokens = least(attempt->job.limits.max_tokens,
                            attempt->consumer->settings.max_tokens),
    };
    attempt->call = model_call_new(attempt->consumer->http, attempt->endpoint,
                                   &request, events, attempt, err);
    json_decref(attempt->asked_for.messages);
    attempt->asked_for.messages = NULL;
    return attempt->call != NULL;
}

enum turn step_asking(struct attempt *attempt)
{
    struct err err;
    if (attempt->landed)
        return attempt_go(attempt, ANSWERING);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    if (!make_call(attempt, &err))
        return attempt_fail(attempt, &err);
    attempt->squeezing = false;
    struct record intent = { .kind = RECORD_MODEL_INTENT,
                             .attempt = attempt->number,
                             .turn = next_turn(attempt),
                             .last = view_of(last_reason(attempt)),
                             .kept = attempt->asked_for.kept,
                             .tokens = attempt->asked_for.tokens,
                             .hash = view_of(model_call_hash(attempt->call)) };
    if (!attempt_compose(attempt, &intent))
        return AGAIN;
    struct event_data data = { .turn = next_turn(attempt) };
    attempt_journal(attempt, "turn.started", &data);
    return WAIT;
}

/* Once a turn: what is too long then will not do either. */
static enum turn squeeze(struct attempt *attempt)
{
    attempt->squeezing = attempt->squeezed = true;
    attempt->wait_ms = 0;
    attempt->resume = ASKING;
    return attempt_go(attempt, REFUSED);
}

enum turn step_answering(struct attempt *attempt)
{
    struct err err;
    if (!attempt->begun) {
        attempt->begun = true;
        if (attempt->call == NULL && !make_call(attempt, &err))
            return attempt_fail(attempt, &err);
        attempt->asked_ms = attempt_now_ms(attempt);
        model_call_start(attempt->call);
        return WAIT;
    }
    if (!attempt->landed)
        return WAIT;
    model_call_free(attempt->call);
    attempt->call = NULL;
    const struct model_failure *failure = &attempt->failure;
    if (failure->why.kind == ERR_NONE)
        return attempt_go(attempt, ANSWERED);
    if (strcmp(failure->why.code, "model_context") == 0 && !attempt->squeezed)
        return squeeze(attempt);
    /* What may have been carried out is asked for anew: a second intent counts
     * it, a second turn.started voids the pieces that were heard. */
    return attempt_retry(attempt, &failure->why, failure->retry_after_ms,
                         failure->unknown ? ASKING : ANSWERING);
}

enum turn step_answered(struct attempt *attempt)
{
    if (attempt->landed) {
        attempt->tries = 0;
        attempt->squeezed = false;
        return attempt_go(attempt, DECIDING);
    }
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    struct event_data data = { .turn = next_turn(attempt),
                               .text = buf_view(&attempt->said) };
    attempt_journal(attempt, "message.completed", &data);
    return WAIT;
}

/* The next attempt knows then that this request was not paid for. */
enum turn step_refused(struct attempt *attempt)
{
    if (attempt->landed)
        return attempt_go(attempt,
                          attempt->resume == ASKING ? ASKING : PARKING);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    struct record refusal = { .kind = RECORD_MODEL_INTENT,
                              .attempt = attempt->number,
                              .turn = next_turn(attempt),
                              .failed = true };
    if (!attempt_compose(attempt, &refusal))
        return AGAIN;
    struct event_data data = { .error = result_error_of(&attempt->failure.why),
                               .wait_ms = attempt->wait_ms };
    attempt_journal(attempt, "job.retrying", &data);
    return WAIT;
}

enum turn step_pausing(struct attempt *attempt)
{
    return attempt->landed ? attempt_go(attempt, attempt->resume) : WAIT;
}
