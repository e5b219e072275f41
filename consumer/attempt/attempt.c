/* attempt.c - the machine of one consumer's work on one job. */
#include "consumer/attempt/attempt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/attempt/approval.h"
#include "consumer/attempt/retrieve.h"
#include "consumer/blob.h"
#include "consumer/log.h"

enum {
    MINUTE_MS = 60 * 1000,
    REDIS_MS = 10 * MINUTE_MS, /* Redis may be away for so long */
    FINISH_MS = 60 * MINUTE_MS,
    OTHERS_MS = 25 * 60 * MINUTE_MS, /* after the bounds of what we wait for */
    BLOB_RENEWALS = 24,              /* at most, in the time that they live */
};

static enum turn step_deciding(struct attempt *attempt);

static enum turn step_ended(struct attempt *attempt)
{
    (void)attempt;
    return WAIT;
}

#define TO(state) (1u << (state))
#define STOPS (TO(SAVING) | TO(RELEASING) | TO(ENDED))
#define PAUSES (TO(PAUSING) | TO(PARKING))

static const struct rule {
    const char *name;
    unsigned int next;
    attempt_step *step;
    uint64_t limit_ms;
    bool writes; /* waits for Redis alone */
} table[ATTEMPT_STATES] = {
    [LOADING] = { "loading", TO(CLAIMING) | TO(DECIDING) | TO(PARKING) | STOPS,
                  step_loading, REDIS_MS, true },
    [CLAIMING] = { "claiming", TO(RECALLING) | PAUSES | STOPS, step_claiming,
                   OTHERS_MS, false },
    [RECALLING] = { "recalling", TO(DECIDING) | STOPS, step_recalling, REDIS_MS,
                    true },
    [DECIDING] = { "deciding",
                   TO(ASKING) | TO(RETRIEVING) | TO(PREPARING) | TO(GATHERING) |
                       TO(ACTING) | TO(PARKING) | STOPS,
                   step_deciding, MINUTE_MS, false },
    [SHOWING] = { "showing", TO(ASKING) | TO(ANSWERING) | TO(REFUSED) | STOPS,
                  step_showing, REDIS_MS, true },
    [ASKING] = { "asking",
                 TO(SHOWING) | TO(ANSWERING) | TO(DECIDING) | TO(REFUSED) |
                     PAUSES | STOPS,
                 step_asking, REDIS_MS, true },
    [ANSWERING] = { "answering",
                    TO(SHOWING) | TO(ASKING) | TO(RETRIEVING) | TO(ANSWERED) |
                        TO(REFUSED) | PAUSES | STOPS,
                    step_answering, OTHERS_MS, false },
    [RETRIEVING] = { "retrieving",
                     TO(ASKING) | TO(ANSWERED) | TO(REFUSED) | PAUSES | STOPS,
                     step_retrieving, OTHERS_MS, false },
    [ANSWERED] = { "answered", TO(DECIDING) | STOPS, step_answered, REDIS_MS,
                   true },
    [REFUSED] = { "refused", TO(ASKING) | TO(REFUSED) | PAUSES | STOPS,
                  step_refused, REDIS_MS, true },
    [PAUSING] = { "pausing",
                  TO(CLAIMING) | TO(ASKING) | TO(ANSWERING) | TO(RETRIEVING) |
                      TO(PREPARING) | TO(RUNNING) | TO(ACTING) | TO(REFUSED) |
                      STOPS,
                  step_pausing, 0, false },
    [PREPARING] = { "preparing",
                    TO(CALLING) | TO(RUNNING) | TO(OBSERVED) | PAUSES | STOPS,
                    step_preparing, OTHERS_MS, false },
    [CALLING] = { "calling", TO(RUNNING) | STOPS, step_calling, REDIS_MS,
                  true },
    [RUNNING] = { "running", TO(COLLECTING) | PAUSES | STOPS, step_running,
                  OTHERS_MS, false },
    [COLLECTING] = { "collecting", TO(OBSERVED) | STOPS, step_collecting,
                     OTHERS_MS, false },
    [OBSERVED] = { "observed", TO(DECIDING) | STOPS, step_observed, REDIS_MS,
                   true },
    [GATHERING] = { "gathering", TO(DECIDING) | STOPS, step_gathering,
                    OTHERS_MS, false },
    [ACTING] = { "acting", TO(FORKING) | TO(RECORDING) | PAUSES | STOPS,
                 step_acting, OTHERS_MS, false },
    [FORKING] = { "forking", TO(RECORDING) | STOPS, step_forking, REDIS_MS,
                  true },
    [RECORDING] = { "recording", STOPS, step_recording, REDIS_MS, true },
    [SAVING] = { "saving", TO(FINISHING) | TO(RELEASING) | TO(ENDED),
                 step_saving, MINUTE_MS, false },
    [FINISHING] = { "finishing", TO(ENDED), step_finishing, FINISH_MS, true },
    [RELEASING] = { "releasing", TO(ENDED), step_releasing, REDIS_MS, true },
    [PARKING] = { "parking", TO(ENDED), step_parking, REDIS_MS, true },
    [ENDED] = { "ended", 0, step_ended, 0, false },
};

const char *attempt_state_name(const struct attempt *attempt)
{
    return table[attempt->state].name;
}

uint64_t attempt_now_ms(const struct attempt *attempt)
{
    uv_update_time(attempt->consumer->loop);
    return uv_now(attempt->consumer->loop);
}

const struct catalog *attempt_catalog(const struct attempt *attempt)
{
    const struct toolset *toolset = attempt->toolset;
    return attempt->job.mode == MODE_CODEACT ? &toolset->codeact
                                             : &toolset->catalog;
}

struct terms attempt_terms(const struct attempt *attempt)
{
    const struct consumer *consumer = attempt->consumer;
    return (struct terms){
        .prompts = &consumer->prompts,
        .catalog = attempt_catalog(attempt),
        .tools = attempt->tools,
        .functions = buf_view(&attempt->functions),
        .libraries = view_of(executor_libraries(consumer->executor)),
        .endpoint = attempt->endpoint,
        .max_turns = consumer->settings.max_turns,
        .max_tokens = consumer->settings.max_tokens,
        .max_total_tokens = consumer->settings.max_total_tokens,
        .max_cost = consumer->settings.max_cost,
        .repeats = consumer->settings.repeats,
        .output_repairs = consumer->settings.output_repairs,
        .approves_code = attempt->toolset->approves_code,
        .approval_ms = consumer->settings.approval_ms,
        .approval_default = consumer->settings.approval_default,
        .pictures = attempt_sees(attempt) ? consumer->settings.pictures : 0,
        .picture_bytes = consumer->settings.picture_bytes,
        .blob_url = consumer->settings.blob_url,
    };
}

struct holding attempt_holding(const struct attempt *attempt)
{
    return (struct holding){ view_of(attempt->id), attempt->epoch };
}

/* ------------------------------------------------------------- deadlines */

static bool is_past_deadline(const struct attempt *attempt)
{
    return attempt->deadline_ms != 0 &&
           attempt_now_ms(attempt) >= attempt->deadline_ms;
}

/* The state's own limit, or the job's deadline where that comes first. */
static void set_alarm(struct attempt *attempt)
{
    uint64_t limit = attempt->state == PAUSING ? attempt->wait_ms
                                               : table[attempt->state].limit_ms;
    uint64_t now = attempt_now_ms(attempt);
    bool ending = attempt->state >= SAVING;
    if (attempt->deadline_ms != 0 && !ending) {
        uint64_t left =
            attempt->deadline_ms > now ? attempt->deadline_ms - now : 0;
        limit = left < limit ? left : limit;
    }
    alarm_set(attempt->alarm, limit);
}

static void on_alarm(void *owner)
{
    struct attempt *attempt = owner;
    if (attempt->state < SAVING && is_past_deadline(attempt)) {
        attempt_stop(attempt, STOP_DEADLINE);
        return;
    }
    if (attempt->state == PAUSING) {
        attempt->landed = true;
        attempt_run(attempt);
        return;
    }
    const struct rule *rule = &table[attempt->state];
    if (attempt->state == SAVING) {
        session_abandon(&attempt->session);
        err_set(&attempt->session.fault, ERR_RETRY, "session_failed",
                "it took more than %llu ms",
                (unsigned long long)rule->limit_ms);
        attempt->landed = true;
        attempt_run(attempt);
        return;
    }
    log_line("job.overdue", "{s:s, s:s}", "job", attempt->id, "state",
             rule->name);
    if (session_waits(&attempt->session)) { /* and not for itself */
        attempt_stop(attempt, STOP_RELEASE);
        return;
    }
    err_set(&attempt->fault, ERR_RETRY, "internal",
            "\"%s\" took more than %llu ms", rule->name,
            (unsigned long long)rule->limit_ms);
    /* What waits for Redis cannot even say so: others will take over. */
    attempt_stop(attempt, rule->writes ? STOP_LOST : STOP_FAULT);
}

/* --------------------------------------------------------------- machine */

enum turn attempt_go(struct attempt *attempt, enum attempt_state next)
{
    assert(table[attempt->state].next & TO(next));
    attempt->state = next;
    attempt->begun = attempt->landed = false;
    if (next >= SAVING)
        journal_seal(&attempt->journal);
    if (next == ENDED)
        alarm_stop(attempt->alarm);
    else
        set_alarm(attempt);
    return AGAIN;
}

void attempt_keep_partial(struct attempt *attempt)
{
    if (attempt->call == NULL) /* what was kept of one that broke off stands */
        return;
    struct view text =
        attempt_summarises(attempt) ? VIEW("") : model_call_text(attempt->call);
    buf_finish(&attempt->partial);
    buf_init(&attempt->partial, text.len);
    buf_add(&attempt->partial, text);
}

void attempt_drop_work(struct attempt *attempt)
{
    bool cell_runs = attempt->state == RUNNING;
    /* The others leave it to the next attempt. */
    bool ends = attempt->stop == STOP_DEADLINE ||
                attempt->stop == STOP_CANCEL || attempt->stop == STOP_FAULT;
    if (ends) {
        retrieve_cancel(attempt);
        attempt_keep_partial(attempt);
    }
    attempt_drop_call(attempt);
    session_abandon(&attempt->session);
    uses_drop(attempt);
    if (cell_runs && attempt->stop != STOP_LOST &&
        attempt->stop != STOP_RELEASE)
        session_interrupt(&attempt->session);
}

static enum turn end_as(struct attempt *attempt, int status,
                        const struct err *why)
{
    attempt->ending.status = status;
    attempt->ending.why = why == NULL ? (struct err){ 0 } : *why;
    return attempt_go(attempt, SAVING);
}

enum turn attempt_complete(struct attempt *attempt)
{
    return end_as(attempt, STATE_COMPLETED, NULL);
}

static bool is_from_outside(enum stop stop)
{
    return stop == STOP_CANCEL || stop == STOP_DEADLINE;
}

/* The result has to tell of what the journal has. Who hands the job back waits
 * for an intent alone, to say that it came to nothing. */
static bool may_wait(const struct attempt *attempt)
{
    bool leaves = attempt->stop == STOP_RELEASE && attempt->state == ASKING;
    return attempt->writing && (is_from_outside(attempt->stop) || leaves);
}

/* Its request stands in the journal, and it is known that nothing was paid for
 * it: it was refused, or never sent. It is not made any more. */
static bool owes_refusal(const struct attempt *attempt)
{
    enum attempt_state state = attempt->state;
    bool leaves =
        is_from_outside(attempt->stop) || attempt->stop == STOP_RELEASE;
    bool intended = state == ASKING && attempt->landed &&
                    attempt->decided.plan.fits && !attempt->barred &&
                    !attempt->forgoing;
    bool unsent = (state == ANSWERING && !attempt->begun) ||
                  (state == SHOWING && attempt->shown_in == ANSWERING);
    bool refused = state == PAUSING && attempt->resume == ANSWERING;
    return leaves && (intended || unsent || refused);
}

static void act_on_stop(struct attempt *attempt)
{
    static const struct err too_late = { ERR_REJECT, "deadline_exceeded",
                                         "the job's deadline has passed" };
    if (attempt->stop == STOP_NONE || attempt->state == ENDED ||
        may_wait(attempt))
        return;
    if (attempt->stop == STOP_LOST) {
        attempt_drop_work(attempt);
        store_drop(&attempt->store);
        attempt_go(attempt, ENDED);
        return;
    }
    bool ends = attempt->state == SAVING && attempt->stop != STOP_RELEASE;
    if (attempt->state >= FINISHING || ends)
        return;
    attempt_drop_work(attempt);
    if (owes_refusal(attempt)) {
        attempt->resume = SAVING; /* or RELEASING: the stop stands */
        attempt_go(attempt, REFUSED);
        return;
    }
    if (attempt->stop == STOP_RELEASE)
        attempt_go(attempt, RELEASING);
    else if (attempt->stop == STOP_CANCEL)
        end_as(attempt, STATE_CANCELLED, NULL);
    else if (attempt->stop == STOP_DEADLINE)
        end_as(attempt, STATE_FAILED, &too_late);
    else
        end_as(attempt, STATE_FAILED, &attempt->fault);
}

static void end(struct attempt *attempt);

void attempt_run(struct attempt *attempt)
{
    if (attempt->busy) {
        attempt->again = true;
        return;
    }
    attempt->busy = true;
    do {
        attempt->again = false;
        act_on_stop(attempt);
    } while (table[attempt->state].step(attempt) == AGAIN || attempt->again);
    attempt->busy = false;
    if (attempt->state == ENDED)
        end(attempt);
}

void attempt_stop(struct attempt *attempt, enum stop stop)
{
    if (stop <= attempt->stop)
        return;
    attempt->stop = stop;
    attempt_run(attempt);
}

/* Not ours any more: whoever asked for it, this is no error of the job. */
static bool is_lost(const struct err *why)
{
    return strcmp(why->code, "stale") == 0 ||
           strcmp(why->code, "unknown_job") == 0;
}

static void log_refused(const struct attempt *attempt, const struct err *why)
{
    log_line("job.refused", "{s:s, s:s, s:s}", "job", attempt->id, "code",
             why->code, "why", why->text);
}

enum turn attempt_fail(struct attempt *attempt, const struct err *why)
{
    enum stop stop = is_lost(why) ? STOP_LOST : STOP_FAULT;
    if (stop == STOP_LOST)
        log_refused(attempt, why);
    attempt->fault = *why;
    buf_finish(&attempt->partial); /* nobody has stopped it */
    if (attempt->stop < stop)
        attempt->stop = stop;
    return AGAIN; /* and attempt_run() acts on it */
}

static enum turn end_decided(struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    struct err why;
    int status = decide_end(&attempt->conversation, &terms, &why);
    return end_as(attempt, status, &why);
}

static enum turn step_deciding(struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    enum next next = decide_next(&attempt->conversation, &terms);
    if (approval_asks(attempt))
        return attempt_go(attempt, PARKING);
    if (attempt->job.kind == JOB_SESSION)
        return attempt_go(attempt, ACTING);
    if (next == NEXT_CALL)
        return attempt_go(
            attempt, decide_is_tool(conversation_call(&attempt->conversation))
                         ? GATHERING
                         : PREPARING);
    if (next == NEXT_END)
        return end_decided(attempt);
    return attempt_go(attempt, retrieve_finds(attempt) ? RETRIEVING : ASKING);
}

bool attempt_wishes(struct attempt *attempt, const struct wish *wish,
                    enum turn *turn)
{
    const struct err *fault = &attempt->session.fault;
    if (!attempt->begun) {
        attempt->begun = true;
        session_want(&attempt->session, wish);
    }
    *turn = WAIT;
    if (!attempt->landed)
        return false;
    if (fault->kind != ERR_NONE)
        *turn = attempt_retry(attempt, fault, 0, attempt->state);
    return fault->kind == ERR_NONE;
}

/* --------------------------------------------------------------- writing */

void attempt_written(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct attempt *attempt = owner;
    if (reply != NULL)
        return;
    bool lost = is_lost(why) || attempt->state >= SAVING;
    log_refused(attempt, why);
    attempt->fault = *why;
    attempt_stop(attempt, lost ? STOP_LOST : STOP_FAULT);
}

void attempt_landed(void *owner, const redisReply *reply, const struct err *why)
{
    struct attempt *attempt = owner;
    if (reply == NULL) {
        attempt_written(attempt, reply, why);
        return;
    }
    attempt->landed = true;
    attempt_run(attempt);
}

/* Not for every cell: it would be a command for each blob each time. */
void attempt_renew_blobs(struct attempt *attempt, uint64_t ttl_ms)
{
    const struct conversation *conversation = &attempt->conversation;
    uint64_t now = attempt_now_ms(attempt);
    uint64_t since = attempt->renewed_ms > 0
                         ? now - attempt->renewed_ms
                         : now - attempt->started_ms + attempt->age_ms;
    uint64_t usual = attempt->consumer->settings.result_ttl_ms;
    if (since < usual / BLOB_RENEWALS && ttl_ms == usual)
        return;
    attempt->renewed_ms = now;
    blobs_renew(&attempt->store, &attempt->consumer->names,
                conversation->results, conversation->result_count, ttl_ms);
}

bool attempt_compose(struct attempt *attempt, const struct record *record)
{
    struct err err;
    buf_finish(&attempt->record);
    if (journal_encode(record, &attempt->record, &err))
        return true;
    attempt_fail(attempt, &err);
    return false;
}

static void on_journaled(void *owner, const redisReply *reply)
{
    struct attempt *attempt = owner;
    attempt->writing = false;
    if (attempt->state == ASKING)
        spend_is_barred(attempt, reply);
    attempt_landed(attempt, reply, NULL);
}

void attempt_journal(struct attempt *attempt, const char *type,
                     const struct event_data *data)
{
    attempt_journal_spend(attempt, NULL, type, data);
}

void attempt_journal_spend(struct attempt *attempt, const struct spend *spend,
                           const char *type, const struct event_data *data)
{
    struct journal_entry entry = { &attempt->record, spend, type, data };
    attempt->writing = true;
    journal_write(&attempt->journal, &entry, on_journaled, attempt);
}

/* ------------------------------------------------------ beginning and end */

void attempt_new(const struct partition *partition,
                 const struct started *started)
{
    struct consumer *consumer = partition->consumer;
    struct attempt *attempt = calloc(1, sizeof(*attempt));
    if (attempt == NULL)
        abort();
    while (consumer->slots[attempt->slot] != NULL)
        attempt->slot++;
    assert(attempt->slot < consumer->settings.slots);
    consumer->slots[attempt->slot] = attempt;
    consumer->running++;
    attempt->consumer = consumer;
    attempt->partition = partition;
    attempt->serial = ++consumer->serials;
    attempt->alarm = alarm_new(consumer->loop, on_alarm, attempt);
    store_init(&attempt->store, partition->control);
    attempt_begin(attempt, started);
    set_alarm(attempt);
    attempt_run(attempt);
}

static void attempt_free(struct attempt *attempt)
{
    uses_drop(attempt);
    attempt_drop_call(attempt);
    retrieve_forget(attempt);
    attempt_drop_pictures(attempt);
    session_finish(&attempt->session);
    arena_finish(&attempt->recollection.arena);
    output_finish(&attempt->output);
    journal_finish(&attempt->journal);
    progress_finish(&attempt->progress);
    store_finish(&attempt->store);
    conversation_finish(&attempt->conversation);
    arena_finish(&attempt->arena);
    alarm_free(attempt->alarm);
    json_decref(attempt->tools);
    toolset_drop(attempt->toolset);
    endpoint_free(attempt->endpoint);
    attempt_drop_records(attempt);
    buf_finish(&attempt->body);
    buf_finish(&attempt->said);
    buf_finish(&attempt->partial);
    buf_finish(&attempt->offered);
    buf_finish(&attempt->functions);
    buf_finish(&attempt->code);
    buf_finish(&attempt->record);
    buf_finish(&attempt->result);
    buf_finish(&attempt->question);
    known_finish(&attempt->fork);
    arena_finish(&attempt->answer);
    free(attempt);
}

static void end(struct attempt *attempt)
{
    struct consumer *consumer = attempt->consumer;
    consumer->slots[attempt->slot] = NULL;
    consumer->running--;
    attempt_free(attempt);
    consumer->on_ended(consumer);
}
