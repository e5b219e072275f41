/* code_calls.c - tools that the code of a cell calls. */
#include "consumer/activity/code_calls.h"

#include <openssl/evp.h>
#include <string.h>

enum {
    /* All answers of a job together; its consumer keeps them in memory. */
    MAX_RESULTS_BYTES = 16 << 20,
    EVENT_ARGUMENTS_BYTES = 4 << 10,
};

/* ------------------------------------------------------------------- side */

static void intend(const struct tool_use *use, struct record *record,
                   struct event_data *data)
{
    record->tool = view_of(use->tool->name);
    data->text = view_head(use->arguments, EVENT_ARGUMENTS_BYTES);
}

static void result(const struct tool_use *use, struct record *record,
                   struct buf *observation)
{
    (void)observation;
    record->tool = view_of(use->tool->name);
    record->observation =
        record->failed ? view_of(use->why.text) : buf_view(&use->data);
}

static void answer(struct tool_use *use)
{
    if (use->asked_as != 0)
        session_answer(use->attempt->session, view_of(use->call), use->asked_as,
                       buf_view(&use->data), &use->why);
    tool_use_free(use);
}

const struct tool_side code_side = { intend, result, answer };

/* ------------------------------------------------------------ being asked */

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

static void refuse(struct attempt *attempt, struct view call, uint64_t number,
                   const struct err *why)
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
        tool_use_new(uses, call, known ? known->number : frame->number);
    memcpy(use->hash, hash, sizeof(use->hash));
    use->tool = tool;
    use->asked_as = frame->number;
    use->arguments = frame->data;
    if (!tool_use_prepare(use, frame->data, err)) {
        tool_use_free(use);
        return false;
    }
    if (!known)
        tool_use_begin(use);
    else
        tool_use_resume(use);
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
    hash_of(frame, hash);
    struct code_call *known = find_known(attempt, call, frame, hash);
    struct tool_use *running = find_running(uses, call, hash, frame->number);
    if (known && known->answered)
        replay(attempt, known, frame->number);
    else if (running)
        running->asked_as = frame->number;
    else if (!make_call(uses, call, frame, hash, known, &err))
        refuse(attempt, call, frame->number, &err);
}

void code_calls_repeat(struct attempt *attempt, struct view call,
                       const struct frame *frame)
{
    struct err err = { .kind = ERR_NONE };
    char hash[65];
    hash_of(frame, hash);
    struct code_call *known = find_known(attempt, call, frame, hash);
    if (known && known->answered) {
        replay(attempt, known, frame->number);
        return;
    }
    err_set(&err, ERR_REJECT, "tool_failed",
            "earlier code runs again to restore the session, and did not make "
            "this call then");
    refuse(attempt, call, frame->number, &err);
}
