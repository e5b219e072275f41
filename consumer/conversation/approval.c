/* approval.c - a person's verdicts on calls before they are run. */
#include "consumer/conversation/approval.h"

#include "consumer/conversation/prompt.h"

static struct call *approval_find_call(struct conversation *conversation,
                                       const struct record *record)
{
    for (size_t i = 0; i < conversation->call_count; i++)
        if (view_is(record->call, conversation->calls[i].id))
            return &conversation->calls[i];
    return NULL;
}

/* A call of the reply was begun already, by a consumer whose settings ask
 * nobody: then the reply cannot be thrown away any more. */
static bool is_begun(const struct conversation *conversation)
{
    for (size_t i = 0; i < conversation->call_count; i++)
        if (conversation->calls[i].intended || conversation->calls[i].answered)
            return true;
    return false;
}

/* Takes the reply out of the messages and asks for another one. What it has
 * cost stays. */
static void throw_away(struct conversation *conversation, struct view note)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 4096);
    buf_add(&text, view_of(prompt_regenerate));
    if (note.len > 0)
        buf_printf(&text, "\nThe user says: %.*s", VIEW_ARG(note));
    json_array_remove(conversation->messages,
                      json_array_size(conversation->messages) - 1);
    json_array_append_new(conversation->messages,
                          json_pack("{s:s, s:s%}", "role", "user", "content",
                                    text.data, text.len));
    conversation->call_count = 0;
}

bool approval_apply(struct conversation *conversation,
                    const struct record *record, struct err *err)
{
    struct call *call = approval_find_call(conversation, record);
    if (!call)
        return err_set(err, ERR_RETRY, "internal",
                       "record %zu of the journal approves a call that is in "
                       "no reply",
                       conversation->records);
    if (record->verdict == VERDICT_REGENERATE && !is_begun(conversation)) {
        throw_away(conversation, record->observation);
        return true;
    }
    call->verdict = record->verdict;
    call->unasked = record->failed;
    call->edited = call->said = (struct view){ 0 };
    if (record->verdict == VERDICT_EDIT)
        call->edited = record->arguments;
    else if (record->verdict == VERDICT_ASK)
        call->said = record->arguments;
    else
        call->said = record->observation;
    if (record->verdict == VERDICT_ABORT)
        conversation->aborted = call;
    return true;
}

bool approval_is_given(const struct call *call)
{
    return call->verdict == VERDICT_APPROVE || call->verdict == VERDICT_EDIT;
}

bool approval_refuses(const struct call *call, struct buf *out)
{
    static const char *const sentences[] = {
        [VERDICT_REJECT] = "Not run: the user does not allow this call.",
        [VERDICT_SKIP] = "Not run: the user has skipped this call. Go on "
                         "without it.",
        [VERDICT_REGENERATE] = "Not run: the user wants this to be done "
                               "otherwise.",
        [VERDICT_ASK] = "Not run.",
        [VERDICT_ABORT] = "Not run: the user has ended the task.",
    };
    if (call->verdict == VERDICT_NONE || approval_is_given(call))
        return false;
    if (call->unasked)
        buf_add(out, VIEW("Not run: nobody has approved this call in time. Go "
                          "on without it."));
    else
        buf_add(out, view_of(sentences[call->verdict]));
    if (call->said.len > 0)
        buf_printf(out, " The user says: %.*s", VIEW_ARG(call->said));
    return true;
}

void approval_note(const struct call *call, struct buf *out)
{
    if (call->edited.len > 0)
        buf_printf(out,
                   "[The user has changed this call. What was run:\n%.*s\n]\n",
                   VIEW_ARG(call->edited));
}
