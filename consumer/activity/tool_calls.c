/* tool_calls.c - tools that the model calls itself, and tools that the code of
 * a cell calls. */
#include "consumer/activity/tool_calls.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/observation.h"
#include "consumer/numbers.h"
#include "consumer/tools/tool.h"

enum {
    /* All answers of a job together; its consumer keeps them in memory. */
    MAX_RESULTS_BYTES = 16 << 20,
    EVENT_ARGUMENTS_BYTES = 4 << 10, /* in tool.started */
};

/* ------------------------------------------------------- one use of a tool */

/* What differs between calls of the model and calls of code. */
struct tool_side {
    /* Adds to the record of the intent. */
    void (*intend)(const struct tool_use *use, struct record *record);
    /* Adds to the record of the result. observation: initialized, for a text
     * that the record borrows. */
    void (*result)(const struct tool_use *use, struct record *record,
                   struct buf *observation);
    /* The result is durable: gives it to whoever asked, and frees the use. */
    void (*answer)(struct tool_use *use);
};

struct tool_use {
    struct tool_use *next;
    struct tool_uses *uses;
    struct attempt *attempt;
    const struct tool *tool; /* NULL: there is none of that name */
    struct tool_call *made;  /* NULL: not prepared yet, or over */
    char call[24];           /* id of the model's call: this one, or that of the
                                cell whose code calls */
    char id[48];             /* of this use, for events */
    char hash[65];           /* of tool and arguments; "": the model calls */
    uint64_t number; /* in the journal, among the calls of the code, from 1; 0:
                        the model calls */
    uint64_t asked_as; /* the number that the code now running gave it, which
                          waits for the answer; 0: no code waits */
    uint64_t begun_ms; /* by the loop's clock */
    struct buf data;   /* the value, JSON */
    struct err why;    /* why there is no value; ERR_NONE: there is one */
    struct view arguments; /* as they were written; borrowed, of code only until
                              begin_use() returns */
    enum ruling ruling;    /* of a call of the model */
    uint64_t item;         /* its number; 0: it is none */
    struct work_span span;
};

/* Makes a use and adds it to uses. */
static struct tool_use *new_use(struct tool_uses *uses, struct view call,
                                uint64_t number)
{
    struct tool_use *use = calloc(1, sizeof(*use));
    if (!use)
        abort();
    use->uses = uses;
    use->attempt = uses->activity->attempt;
    use->number = use->asked_as = number;
    use->begun_ms = attempt_now_ms(use->attempt);
    snprintf(use->call, sizeof(use->call), "%.*s", VIEW_ARG(call));
    if (number > 0)
        snprintf(use->id, sizeof(use->id), "%s/%llu", use->call,
                 (unsigned long long)number);
    else
        memcpy(use->id, use->call, sizeof(use->call));
    buf_init(&use->data, MAX_RECORD_BYTES);
    spans_prepare(use->attempt, &use->span, uses->parent);
    spans_start(&use->span);
    use->next = uses->first;
    uses->first = use;
    return use;
}

/* What has come of it, as a span. */
static void tell_use(struct tool_use *use, const struct err *why)
{
    const struct attempt *attempt = use->attempt;
    const struct call *call =
        conversation_find(&attempt->conversation, view_of(use->call));
    struct tool_told told = {
        .name = view_of(use->tool ? use->tool->name : NULL),
        .call = use->number == 0 && call ? view_of(call->call_id) : VIEW(""),
        .arguments = use->arguments,
        .result = buf_view(&use->data),
        .failure = view_of(why->kind == ERR_NONE ? NULL : why->code),
    };
    spans_tool(attempt, &use->span, &told);
}

static void free_use(struct tool_use *use)
{
    struct tool_use **link = &use->uses->first;
    while (*link != use)
        link = &(*link)->next;
    *link = use->next;
    tell_use(use, spans_given_up(use->attempt));
    journal_forget(&use->attempt->journal, use);
    tool_call_free(use->made);
    buf_finish(&use->data);
    free(use);
}

void tool_uses_drop(struct tool_uses *uses)
{
    while (uses->first)
        free_use(uses->first);
}

static void start_call(struct tool_use *use)
{
    use->begun_ms = attempt_now_ms(use->attempt);
    tool_call_start(use->made);
}

/* The intent is durable. An attempt that is about to stop makes no call any
 * more: it waited for this record, so it is run. */
static void on_intent(void *owner, const redisReply *reply)
{
    struct tool_use *use = owner;
    (void)reply;
    if (use->attempt->stop != STOP_NONE)
        attempt_run(use->attempt);
    else
        start_call(use);
}

static void on_result(void *owner, const redisReply *reply)
{
    struct tool_use *use = owner;
    struct attempt *attempt = use->attempt;
    (void)reply;
    if (attempt->stop != STOP_NONE)
        attempt_run(attempt);
    else
        use->uses->side->answer(use);
}

/* In one step with the event that tells of it. */
static void tool_use_write_record(struct tool_use *use, struct record *record,
                                  const char *type,
                                  const struct event_data *data,
                                  journal_done *done)
{
    struct attempt *attempt = use->attempt;
    struct journal_entry entry = { .type = type, .data = data };
    struct buf bytes;
    struct err err;
    record->attempt = attempt->origin.number;
    record->span = view_of(attempt->spans.digits);
    record->turn = attempt->conversation.turn;
    record->call = view_of(use->call);
    record->number = use->number;
    record->hash = view_of(use->hash);
    record->item = use->item;
    if (!journal_encode(record, &bytes, &err))
        abort(); /* all parts are bounded */
    entry.record = &bytes;
    journal_write(&attempt->journal, &entry, done, use);
}

/* What the event tells that comes with this record. */
static struct event_data about(const struct tool_use *use,
                               const struct record *record)
{
    struct event_data data =
        attempt_call_event(use->attempt, view_of(use->id), record->tool);
    if (use->number > 0)
        data.parent = view_of(use->call);
    data.item = use->item;
    return data;
}

static void count_use(const struct tool_use *use, const struct record *record)
{
    bool refused = use->ruling != RULING_RUN;
    metric_add(NUMBER_TOOL_CALLS, 1,
               LABELS(record->tool, refused          ? VIEW("refused")
                                    : record->failed ? VIEW("error")
                                                     : VIEW("ok")));
    if (!refused)
        metric_observe(NUMBER_TOOL_TIME, (double)record->ms / 1000,
                       LABELS(record->tool));
}

static void write_result(struct tool_use *use)
{
    bool failed = use->why.kind != ERR_NONE;
    CLEANUP(buf_finish) struct buf observation;
    buf_init(&observation, MAX_RECORD_BYTES);
    struct record record = {
        .kind = RECORD_TOOL_RESULT,
        .failed = failed,
        .brake = use->ruling == RULING_FORBID ? BRAKED_FORBID : BRAKED_NOT,
        .ms = attempt_now_ms(use->attempt) - use->begun_ms,
    };
    use->uses->side->result(use, &record, &observation);
    struct event_data data = about(use, &record);
    data.status = use->ruling == RULING_BAR ? VIEW("refused")
                  : failed                  ? VIEW("error")
                                            : VIEW("ok");
    data.ms = record.ms;
    count_use(use, &record);
    tool_use_write_record(use, &record, "tool.completed", &data, on_result);
}

/* The call has ended, or why says why it is not made: writes the result. */
static void end_use(struct tool_use *use, const struct err *why)
{
    use->why = *why;
    tell_use(use, why);
    tool_call_free(use->made);
    use->made = NULL;
    write_result(use);
}

static void on_done(void *owner, struct view data, const struct err *why)
{
    struct tool_use *use = owner;
    if (why->kind == ERR_NONE)
        buf_add(&use->data, data);
    end_use(use, why);
}

/* Checks the arguments for use->tool and makes the call ready, but starts
 * nothing. Error: a sentence for whoever asks. */
static bool prepare_use(struct tool_use *use, struct view arguments,
                        struct err *err)
{
    const struct attempt *attempt = use->attempt;
    const struct job *job = &attempt->job;
    struct caller caller = {
        .job = view_of(attempt->origin.id),
        .tenant = names_or_default(job->tenant),
        .session = job->session,
        .metadata = job->metadata,
        .trace = spans_trace(attempt, &use->span),
    };
    use->made = tool_call_new(&use->attempt->consumer->tool_host, use->tool,
                              &caller, arguments, on_done, use, err);
    return use->made;
}

/* Of a use that is prepared: writes the intent, then makes the call. */
static void begin_use(struct tool_use *use)
{
    struct record record = { .kind = RECORD_TOOL_INTENT };
    use->uses->side->intend(use, &record);
    struct event_data data = about(use, &record);
    data.text = view_head(use->arguments, EVENT_ARGUMENTS_BYTES);
    tool_use_write_record(use, &record, "tool.started", &data, on_intent);
}

/* The same as begin_use() when the journal has its intent already, of an
 * attempt before or of code that ran before: makes the call, or gives its
 * outcome up as unknown. */
static void resume_use(struct tool_use *use)
{
    struct err why = { .kind = ERR_NONE };
    if (use->tool->repeat) {
        start_call(use);
        return;
    }
    err_set(&why, ERR_REJECT, "unknown_outcome",
            "what became of this call is not known: it may have been carried "
            "out");
    end_use(use, &why);
}

/* ------------------------------------------------------ calls by the model */

static const struct call *call_of(const struct tool_use *use)
{
    return conversation_find(&use->attempt->conversation, view_of(use->call));
}

static void name_call(const struct tool_use *use, struct record *record)
{
    const struct call *call = call_of(use);
    record->call_id = view_head(view_of(call->call_id), MAX_NAME_BYTES);
    record->tool = view_head(view_of(call->tool), MAX_NAME_BYTES);
}

static void model_intend(const struct tool_use *use, struct record *record)
{
    name_call(use, record);
    record->arguments = use->arguments;
}

/* The model is told the value, or a sentence why there is none; and that the
 * same came of the same call before, if so. */
static void model_result(const struct tool_use *use, struct record *record,
                         struct buf *observation)
{
    const struct attempt *attempt = use->attempt;
    const struct conversation *conversation = &attempt->conversation;
    name_call(use, record);
    if (record->failed)
        decide_refusal(call_of(use), use->ruling, &use->why, observation);
    else
        observation_of_value(observation, buf_view(&use->data));
    record->observation = buf_view(observation);
    struct terms terms = attempt_terms(attempt);
    if (decide_hint(conversation, conversation->result_count, &terms,
                    use->arguments, record))
        record->brake = BRAKED_HINT;
}

/* The activity is over with the last one. */
static void model_answer(struct tool_use *use)
{
    struct tool_uses *uses = use->uses;
    free_use(use);
    if (!uses->first)
        activity_land(uses->activity);
}

static const struct tool_side model_side = { model_intend, model_result,
                                             model_answer };

enum { CALLING, STATES };

struct tool_calls {
    struct activity activity;
    struct tool_uses uses;
};

static void tool_calls_begin(struct tool_calls *calls, const struct call *call)
{
    struct attempt *attempt = calls->activity.attempt;
    struct terms terms = attempt_terms(attempt);
    struct err err = { .kind = ERR_NONE };
    CLEANUP(buf_finish) struct buf arguments;
    struct tool_use *use = new_use(&calls->uses, view_of(call->id), 0);
    use->arguments = call_arguments(call);
    use->item = attempt_call_item(attempt, call);
    use->ruling = decide_tool(&attempt->conversation, &terms, call, &use->tool,
                              &arguments, &err);
    /* A call that the brake forbids is checked all the same: what is wrong with
     * it is the better answer. */
    bool fits = use->ruling == RULING_RUN || use->ruling == RULING_FORBID;
    if (fits && !prepare_use(use, buf_view(&arguments), &err))
        use->ruling = RULING_REFUSE;
    else if (use->ruling == RULING_FORBID)
        err_set(&err, ERR_REJECT, "loop", "it was done often enough");
    if (use->ruling != RULING_RUN)
        end_use(use, &err);
    else if (call->intended)
        resume_use(use);
    else
        begin_use(use);
}

/* All calls of a reply up to the next one of Python are made at once: cells run
 * in the order of the reply, for other tools the order does not count. */
static enum pace enter_calling(void *owner)
{
    struct tool_calls *calls = owner;
    const struct conversation *conversation =
        &calls->activity.attempt->conversation;
    const struct call *end = conversation->calls + conversation->call_count;
    for (const struct call *call = conversation_call(conversation);
         call < end && decide_is_tool(call); call++)
        if (!call->answered)
            tool_calls_begin(calls, call);
    return WAIT;
}

static enum pace step_called(void *owner)
{
    return activity_done(owner);
}

static void calls_free(struct activity *activity)
{
    struct tool_calls *calls = (struct tool_calls *)activity;
    tool_uses_drop(&calls->uses);
    free(calls);
}

static const struct machine_state states[STATES] = {
    [CALLING] = { "calling", 0, .enter = enter_calling, .landed = step_called,
                  .limit_ms = ACTIVITY_OTHERS_MS },
};
static const struct activity_kind kind = {
    .machine = { "tool calls", states, STATES, activity_entered, NULL },
    .resting = STATES,
    .free = calls_free,
};

void tool_calls_start(struct attempt *attempt)
{
    struct tool_calls *calls = calloc(1, sizeof(*calls));
    if (!calls)
        abort();
    calls->uses = (struct tool_uses){ .activity = &calls->activity,
                                      .side = &model_side,
                                      .parent = spans_parent(attempt) };
    activity_init(&calls->activity, &kind, attempt);
}

/* ----------------------------------------------------------- calls by code */

static void code_intend(const struct tool_use *use, struct record *record)
{
    record->tool = view_of(use->tool->name);
}

static void code_result(const struct tool_use *use, struct record *record,
                        struct buf *observation)
{
    (void)observation;
    record->tool = view_of(use->tool->name);
    record->observation =
        record->failed ? view_of(use->why.text) : buf_view(&use->data);
}

static void code_answer(struct tool_use *use)
{
    if (use->asked_as != 0)
        session_answer(use->attempt->session, view_of(use->call), use->asked_as,
                       buf_view(&use->data), &use->why);
    free_use(use);
}

static const struct tool_side code_side = { code_intend, code_result,
                                            code_answer };

void code_calls_init(struct tool_uses *uses, struct activity *activity)
{
    *uses = (struct tool_uses){ .activity = activity, .side = &code_side };
}

static void code_call_hash(const struct frame *frame, char hex[65])
{
    CLEANUP(buf_finish) struct buf whole;
    unsigned char hash[EVP_MAX_MD_SIZE];
    buf_init(&whole, MAX_TOOL_BYTES + MAX_NAME_BYTES + 1);
    buf_add(&whole, view_head(frame->name, MAX_NAME_BYTES));
    buf_append(&whole, "", 1);
    buf_add(&whole, frame->data);
    EVP_Digest(whole.data, whole.len, hash, NULL, EVP_sha256(), NULL);
    for (size_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}

/* The same call, if it is being made: under that number, or for nobody, because
 * the run of the code that made it is over. */
static struct tool_use *find_running(const struct tool_uses *uses,
                                     struct view call, const char *hash,
                                     uint64_t number)
{
    struct tool_use *use = uses->first;
    while (use && (strcmp(use->hash, hash) != 0 || !view_is(call, use->call) ||
                   (use->asked_as != number && use->asked_as != 0)))
        use = use->next;
    return use;
}

static void code_call_refuse(struct attempt *attempt, struct view call,
                             uint64_t number, const struct err *why)
{
    session_answer(attempt->session, call, number, (struct view){ 0 }, why);
}

/* Answers a call that the journal knows. */
static void replay(struct attempt *attempt, const struct code_call *known,
                   uint64_t number)
{
    struct err why = { .kind = ERR_NONE };
    if (known->failed)
        err_set(&why, ERR_REJECT, "tool_failed", "%.*s", VIEW_ARG(known->data));
    session_answer(attempt->session, known->call, number, known->data, &why);
}

static bool is_too_much(const struct attempt *attempt)
{
    size_t bytes = 0;
    for (size_t i = 0; i < attempt->conversation.code_call_count; i++)
        bytes += attempt->conversation.code_calls[i].data.len;
    return bytes > MAX_RESULTS_BYTES;
}

/* known: the same call was intended before, by code that ran then, and has no
 * result in the journal; so nobody knows what came of it. NULL: it is new. */
static bool make_call(struct tool_uses *uses, struct view call,
                      const struct frame *frame, const char *hash,
                      const struct code_call *known, struct err *err)
{
    struct attempt *attempt = uses->activity->attempt;
    struct terms terms = attempt_terms(attempt);
    const struct tool *tool = decide_code_tool(&attempt->conversation, &terms,
                                               call, frame->name, err);
    if (!tool)
        return false;
    if (is_too_much(attempt))
        return err_set(err, ERR_REJECT, "too_large",
                       "the tools of this job have answered more than %d bytes",
                       MAX_RESULTS_BYTES);
    struct tool_use *use =
        new_use(uses, call, known ? known->number : frame->number);
    memcpy(use->hash, hash, sizeof(use->hash));
    use->tool = tool;
    use->asked_as = frame->number;
    use->arguments = frame->data;
    if (!prepare_use(use, frame->data, err)) {
        free_use(use);
        return false;
    }
    if (!known)
        begin_use(use);
    else
        resume_use(use);
    use->arguments = (struct view){ 0 }; /* they are the frame's */
    return true;
}

void code_calls_rerun(struct tool_uses *uses, struct view call)
{
    conversation_rerun(&uses->activity->attempt->conversation, call);
    for (struct tool_use *use = uses->first; use; use = use->next)
        if (view_is(call, use->call))
            use->asked_as = 0;
}

static struct code_call *find_known(struct attempt *attempt, struct view call,
                                    const struct frame *frame, const char *hash)
{
    return conversation_code_call(&attempt->conversation, call, frame->number,
                                  view_of(hash));
}

void code_calls_ask(struct tool_uses *uses, struct view call,
                    const struct frame *frame)
{
    struct attempt *attempt = uses->activity->attempt;
    struct err err = { .kind = ERR_NONE };
    char hash[65];
    code_call_hash(frame, hash);
    struct code_call *known = find_known(attempt, call, frame, hash);
    struct tool_use *running = find_running(uses, call, hash, frame->number);
    if (known && known->answered)
        replay(attempt, known, frame->number);
    else if (running)
        running->asked_as = frame->number;
    else if (!make_call(uses, call, frame, hash, known, &err)) {
        metric_add(NUMBER_TOOL_CALLS, 1, LABELS(frame->name, VIEW("refused")));
        code_call_refuse(attempt, call, frame->number, &err);
    }
}

void code_calls_repeat(struct attempt *attempt, struct view call,
                       const struct frame *frame)
{
    struct err err = { .kind = ERR_NONE };
    char hash[65];
    code_call_hash(frame, hash);
    struct code_call *known = find_known(attempt, call, frame, hash);
    if (known && known->answered) {
        replay(attempt, known, frame->number);
        return;
    }
    err_set(&err, ERR_REJECT, "tool_failed",
            "earlier code runs again to restore the session, and did not make "
            "this call then");
    code_call_refuse(attempt, call, frame->number, &err);
}
