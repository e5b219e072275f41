/* inner.c - tools that the code of a cell calls.
 *
 *   asked --> intent written --> call made --> result written --> answered
 *
 * Many at once. What the journal knows is not done again, neither by whoever
 * takes the job over nor when the cell has to run a second time. A call whose
 * outcome is not known is made again if the tool says that this does no harm;
 * else the code is told. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/attempt/attempt.h"
#include "consumer/tools/tool_call.h"
#include "schemas/message/limits.h"

enum {
    MAX_RESULTS_BYTES = 16 << 20, /* of a job, in its journal */
    EVENT_ARGUMENTS_BYTES = 4 << 10,
};

struct inner_call {
    struct inner_call *next;
    struct attempt *attempt;
    const struct tool *tool;
    struct tool_call *made; /* NULL: not yet, or over */
    char call[24];          /* whose code it is */
    char id[48];            /* of this one, for events */
    char hash[65];          /* of tool and arguments */
    uint64_t number;        /* in the journal */
    uint64_t asked_as;      /* in the run that goes on; 0: nobody waits */
    uint64_t begun_ms;
    struct written {
        struct inner_call *inner;
        struct buf record;
    } intent, result;
    size_t writes;   /* of these, that are on their way */
    bool unwanted;   /* it goes when they are there */
    struct buf data; /* the value, JSON */
    struct err why;  /* there is none */
};

/* ------------------------------------------------------------- life cycle */

static void inner_free(struct inner_call *inner)
{
    struct inner_call **link = &inner->attempt->inner;
    while (*link != inner)
        link = &(*link)->next;
    *link = inner->next;
    tool_call_free(inner->made);
    buf_finish(&inner->data);
    buf_finish(&inner->intent.record);
    buf_finish(&inner->result.record);
    free(inner);
}

void inner_finish(struct attempt *attempt)
{
    while (attempt->inner != NULL)
        inner_free(attempt->inner);
}

void inner_drop(struct attempt *attempt)
{
    struct inner_call *next;
    for (struct inner_call *inner = attempt->inner; inner; inner = next) {
        next = inner->next;
        inner->unwanted = true;
        inner->asked_as = 0;
        tool_call_free(inner->made);
        inner->made = NULL;
        if (inner->writes == 0)
            inner_free(inner);
    }
}

static struct inner_call *inner_new(struct attempt *attempt, struct view call,
                                    uint64_t number, const char *hash)
{
    struct inner_call *inner = calloc(1, sizeof(*inner));
    if (inner == NULL)
        abort();
    inner->attempt = attempt;
    inner->number = inner->asked_as = number;
    snprintf(inner->call, sizeof(inner->call), "%.*s", VIEW_ARG(call));
    snprintf(inner->id, sizeof(inner->id), "%s/%llu", inner->call,
             (unsigned long long)number);
    memcpy(inner->hash, hash, sizeof(inner->hash));
    buf_init(&inner->data, MAX_RECORD_BYTES);
    inner->next = attempt->inner;
    attempt->inner = inner;
    return inner;
}

/* -------------------------------------------------------------- journaling */

static void next_step(struct inner_call *inner, const struct written *written);

static void on_written(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct written *written = owner;
    struct inner_call *inner = written->inner;
    struct attempt *attempt = inner->attempt;
    struct err err;
    bool fine = reply != NULL && attempt->state < SAVING;
    bool applied =
        !fine || conversation_apply(&attempt->conversation,
                                    buf_view(&written->record), &err);
    inner->writes--;
    if (reply == NULL) {
        attempt_written(attempt, reply, why);
    } else if (!applied) {
        attempt->fault = err;
        attempt_stop(attempt, STOP_FAULT);
    } else if (inner->unwanted) {
        if (inner->writes == 0)
            inner_free(inner);
    } else {
        next_step(inner, written);
    }
}

/* In one step with the event that tells it. */
static void journal(struct inner_call *inner, struct written *written,
                    struct record *record, const char *type,
                    const struct event_data *data)
{
    struct attempt *attempt = inner->attempt;
    CLEANUP(buf_finish) struct buf bytes;
    struct command command;
    struct err err;
    record->attempt = attempt->number;
    record->turn = attempt->conversation.turn;
    record->call = view_of(inner->call);
    record->number = inner->number;
    record->hash = view_of(inner->hash);
    record->tool = view_of(inner->tool->name);
    written->inner = inner;
    buf_init(&written->record, MAX_RECORD_BYTES);
    if (!message_encode(&schema_record, record, &written->record, &err))
        abort(); /* all parts are bounded */
    event_data_encode(data, &bytes);
    struct event_text event = { type, buf_view(&bytes) };
    progress_flush(&attempt->progress);
    transition_journal(&command, &attempt->consumer->names,
                       attempt_holding(attempt), attempt->journaled++,
                       buf_view(&written->record), &event, 1);
    inner->writes++;
    store_commit(&attempt->store, &command, on_written, written);
    command_finish(&command);
}

static struct event_data about(const struct inner_call *inner)
{
    return (struct event_data){
        .turn = inner->attempt->conversation.turn,
        .call = view_of(inner->id),
        .parent = view_of(inner->call),
        .tool = view_of(inner->tool->name),
    };
}

static void write_intent(struct inner_call *inner, struct view arguments)
{
    struct record record = { .kind = RECORD_TOOL_INTENT };
    struct event_data data = about(inner);
    data.text = view_head(arguments, EVENT_ARGUMENTS_BYTES);
    journal(inner, &inner->intent, &record, "tool.started", &data);
}

static void write_result(struct inner_call *inner)
{
    bool failed = inner->why.kind != ERR_NONE;
    struct record record = {
        .kind = RECORD_TOOL_RESULT,
        .failed = failed,
        .observation =
            failed ? view_of(inner->why.text) : buf_view(&inner->data),
        .ms = attempt_now_ms(inner->attempt) - inner->begun_ms,
    };
    struct event_data data = about(inner);
    data.status = failed ? VIEW("error") : VIEW("ok");
    data.ms = record.ms;
    journal(inner, &inner->result, &record, "tool.completed", &data);
}

/* ---------------------------------------------------------------- calling */

static void on_done(void *owner, struct view data, const struct err *why)
{
    struct inner_call *inner = owner;
    inner->why = *why;
    if (why->kind == ERR_NONE)
        buf_add(&inner->data, data);
    tool_call_free(inner->made);
    inner->made = NULL;
    write_result(inner);
}

static void start_call(struct inner_call *inner)
{
    inner->begun_ms = attempt_now_ms(inner->attempt);
    tool_call_start(inner->made);
}

static void answer(struct inner_call *inner)
{
    if (inner->asked_as != 0)
        session_answer(&inner->attempt->session, view_of(inner->call),
                       inner->asked_as, buf_view(&inner->data), &inner->why);
    inner_free(inner);
}

static void next_step(struct inner_call *inner, const struct written *written)
{
    if (written == &inner->intent)
        start_call(inner);
    else
        answer(inner);
}

/* --------------------------------------------------------- being asked */

static void hash_of(const struct frame *frame, char hex[65])
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

/* One that is being made, for that number or, since the run that asked for it
 * is over, for none. */
static struct inner_call *find_running(const struct attempt *attempt,
                                       struct view call, const char *hash,
                                       uint64_t number)
{
    struct inner_call *inner = attempt->inner;
    while (inner != NULL &&
           (strcmp(inner->hash, hash) != 0 || !view_is(call, inner->call) ||
            (inner->asked_as != number && inner->asked_as != 0)))
        inner = inner->next;
    return inner;
}

static void refuse(struct attempt *attempt, struct view call, uint64_t number,
                   const struct err *why)
{
    session_answer(&attempt->session, call, number, (struct view){ 0 }, why);
}

static void replay(struct attempt *attempt, const struct inner *known,
                   uint64_t number)
{
    struct err why = { .kind = ERR_NONE };
    if (known->failed)
        err_set(&why, ERR_REJECT, "tool_failed", "%.*s", VIEW_ARG(known->data));
    session_answer(&attempt->session, known->call, number, known->data, &why);
}

static bool is_too_much(const struct attempt *attempt)
{
    size_t bytes = 0;
    for (size_t i = 0; i < attempt->conversation.inner_count; i++)
        bytes += attempt->conversation.inner[i].data.len;
    return bytes > MAX_RESULTS_BYTES;
}

static const struct tool *tool_of(const struct attempt *attempt,
                                  struct view name, struct err *err)
{
    const struct tool *tool = catalog_find(&attempt->consumer->catalog, name);
    const struct view *wanted = attempt->job.tools.items;
    bool offered = attempt->job.tools.count == 0;
    for (size_t i = 0; i < attempt->job.tools.count; i++)
        offered |= view_equal(wanted[i], name);
    if (tool != NULL && offered)
        return tool;
    err_set(err, ERR_REJECT, "unknown_tool",
            "code may not call a tool \"%.*s\"", VIEW_ARG(view_head(name, 64)));
    return NULL;
}

/* Nobody has asked for it before, or nobody knows what came of it. */
static bool make_call(struct attempt *attempt, struct view call,
                      const struct frame *frame, const char *hash,
                      const struct inner *known, struct err *err)
{
    const struct tool *tool = tool_of(attempt, frame->name, err);
    if (tool == NULL)
        return false;
    if (is_too_much(attempt))
        return err_set(err, ERR_REJECT, "too_large",
                       "the tools of this job have answered more than %d bytes",
                       MAX_RESULTS_BYTES);
    struct inner_call *inner = inner_new(
        attempt, call, known != NULL ? known->number : frame->number, hash);
    inner->tool = tool;
    inner->asked_as = frame->number;
    inner->begun_ms = attempt_now_ms(attempt);
    inner->made = tool_call_new(&attempt->consumer->tool_host, tool,
                                frame->data, on_done, inner, err);
    if (inner->made == NULL) {
        inner_free(inner);
        return false;
    }
    if (known == NULL) {
        write_intent(inner, frame->data);
    } else if (tool->repeat) {
        start_call(inner);
    } else {
        err_set(&inner->why, ERR_REJECT, "unknown_outcome",
                "what became of this call is not known: it may have been "
                "carried out");
        write_result(inner);
    }
    return true;
}

void inner_rerun(struct attempt *attempt, struct view call)
{
    conversation_rerun(&attempt->conversation, call);
    for (struct inner_call *inner = attempt->inner; inner; inner = inner->next)
        if (view_is(call, inner->call))
            inner->asked_as = 0;
}

void inner_ask(struct attempt *attempt, struct view call,
               const struct frame *frame, bool past)
{
    struct err err = { .kind = ERR_NONE };
    char hash[65];
    hash_of(frame, hash);
    struct inner *known = conversation_inner(&attempt->conversation, call,
                                             frame->number, view_of(hash));
    struct inner_call *running =
        find_running(attempt, call, hash, frame->number);
    if (known != NULL && known->answered) {
        replay(attempt, known, frame->number);
    } else if (running != NULL) {
        running->asked_as = frame->number;
    } else if (past) {
        err_set(&err, ERR_REJECT, "tool_failed",
                "earlier code runs again to restore the session, and did not "
                "make this call then");
        refuse(attempt, call, frame->number, &err);
    } else if (!make_call(attempt, call, frame, hash, known, &err)) {
        refuse(attempt, call, frame->number, &err);
    }
}
