/* approval.c - which calls need a person's approval, and what becomes of calls
 * by the person's verdict. */
#include "consumer/conversation/approval.h"

#include <ctype.h>
#include <string.h>

#include "consumer/conversation/ask.h"
#include "consumer/conversation/tools.h"
#include "schemas/message/limits.h"

/* -------------------------------------------------------------- the question
 */

static bool is_named(const struct job *job, struct view name)
{
    const struct view *names = job->approve.items;
    for (size_t i = 0; i < job->approve.count; i++)
        if (view_equal(names[i], name))
            return true;
    return false;
}

bool approval_rule_of_tool(const struct job *job, const struct tool *tool)
{
    return tool->approve || is_named(job, view_of(tool->name));
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || (byte & 0x80);
}

/* The code has the tool's name as a word, as code writes it: search_web for
 * search-web. That may be in a comment or a text: then a person is asked once
 * too often, which is the safe mistake. */
static bool code_names(struct view code, const char *tool)
{
    char name[MAX_NAME_BYTES + 1];
    size_t len = (size_t)snprintf(name, sizeof(name), "%s", tool);
    for (char *dash; (dash = strchr(name, '-'));)
        *dash = '_';
    const char *end = code.data + code.len;
    for (const char *at = code.data; at && at < end; at++) {
        at = memmem(at, (size_t)(end - at), name, len);
        if (!at)
            return false;
        if ((at == code.data || !is_word(at[-1])) &&
            (at + len == end || !is_word(at[len])))
            return true;
    }
    return false;
}

/* Only tools that the job may use count: code cannot call others. */
bool approval_rule_of_code(const struct terms *terms, const struct job *job,
                           struct view code)
{
    const struct catalog *catalog = terms->catalog;
    struct err err;
    if (job->kind != JOB_CONVERSATION)
        return false;
    if (terms->approves_code || is_named(job, VIEW(TOOL_PYTHON)))
        return true;
    for (size_t i = 0; i < catalog->count; i++)
        if (approval_rule_of_tool(job, catalog->items[i]) &&
            terms_tool(terms, job, view_of(catalog->items[i]->name), &err) &&
            code_names(code, catalog->items[i]->name))
            return true;
    return false;
}

uint64_t approval_rule_ms(const struct terms *terms, const struct job *job)
{
    return terms_least(job->approval_ms, terms->approval_ms);
}

struct view approval_rule_default(const struct terms *terms,
                                  const struct job *job)
{
    int own = job->approval_default;
    return view_of(own == APPROVAL_UNSAID ? terms->approval_default
                                          : approval_default_names[own]);
}

/* --------------------------------------------------------------- the verdict
 */

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
    for (size_t i = 0; i < conversation->call_count; i++) {
        const struct call *call = &conversation->calls[i];
        if (call->intended || (call->answered && !call->is_callers))
            return true;
    }
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
    for (size_t i = 0; i < conversation->call_count; i++)
        conversation->called -= !conversation->calls[i].is_callers;
    conversation->call_count = 0;
    conversation_drop_items(conversation);
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
