/* calls.c - reads what a reply asks to be done. */
#include "consumer/conversation/calls.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/arguments.h"
#include "consumer/conversation/codeact.h"
#include "consumer/conversation/prompt.h"
#include "consumer/conversation/tools.h"
#include "consumer/model/reply.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/glyph.h"

static struct call *add_call(struct conversation *conversation)
{
    size_t index = conversation->call_count++;
    struct call *call = &conversation->calls[index];
    *call = (struct call){ 0 };
    snprintf(call->id, sizeof(call->id), "%llu.%zu",
             (unsigned long long)conversation->turn, index);
    return call;
}

static void clear_calls(struct conversation *conversation, size_t room)
{
    free(conversation->calls);
    conversation->calls = calloc(room + 1, sizeof(struct call));
    if (!conversation->calls)
        abort();
    conversation->call_count = 0;
}

static const char *keep_text(struct conversation *conversation,
                             struct view text)
{
    char *kept = arena_alloc(&conversation->arena, text.len + 1);
    if (text.len > 0)
        memcpy(kept, text.data, text.len);
    return kept; /* arenas are zeroed: it is terminated */
}

static bool id_is_used(const json_t *messages, const char *id)
{
    size_t i, j;
    json_t *message, *call;
    json_array_foreach(messages, i, message)
        json_array_foreach(json_object_get(message, "tool_calls"), j, call) {
            const char *used = json_string_value(json_object_get(call, "id"));
            if (used && strcmp(used, id) == 0)
                return true;
        }
    return false;
}

/* The id as it is, or another one: models leave ids out and repeat them, and
 * endpoints refuse such histories. */
static json_t *unique_id(const struct conversation *conversation,
                         const json_t *calls, const json_t *id, size_t index)
{
    const char *text = json_is_string(id) ? json_string_value(id) : "";
    bool used = *text == '\0' || id_is_used(conversation->messages, text);
    for (size_t i = 0; i < index && !used; i++) {
        const char *other =
            json_string_value(json_object_get(json_array_get(calls, i), "id"));
        used = other && strcmp(other, text) == 0;
    }
    if (!used)
        return json_string(text);
    return json_sprintf("%s_%llu_%zu", *text == '\0' ? "call" : text,
                        (unsigned long long)conversation->turn, index);
}

/* The arguments in the history: the model's own bytes if they are an object,
 * else the object that they were understood as. */
static json_t *sane_arguments(const struct call *call)
{
    bool python = strcmp(call->tool, TOOL_PYTHON) == 0;
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 2 * (size_t)MAX_RECORD_BYTES);
    if (!arguments_object(call->arguments, python ? TOOL_PYTHON_CODE : NULL,
                          &text, NULL))
        return json_string("{}");
    return json_stringn(text.data, text.len);
}

static void take_call(struct conversation *conversation, json_t *calls,
                      size_t index)
{
    json_t *said = json_array_get(calls, index);
    json_t *function = json_object_get(said, "function");
    json_t *id =
        unique_id(conversation, calls, json_object_get(said, "id"), index);
    struct call *call = add_call(conversation);
    call->call_id =
        keep_text(conversation, (struct view){ json_string_value(id),
                                               json_string_length(id) });
    call->tool = keep_text(conversation, reply_json_text(function, "name"));
    struct view arguments = reply_json_text(function, "arguments");
    call->arguments =
        (struct view){ keep_text(conversation, arguments), arguments.len };
    json_object_set_new(said, "id", id);
    json_object_set_new(function, "arguments", sane_arguments(call));
}

/* No call and no text, which is worth another try. But a reply that was stopped
 * by its length before it said anything would be so again. */
static bool says_nothing(const struct conversation *conversation,
                         struct view text, const struct record *record)
{
    return conversation->call_count == 0 && record->observation.len == 0 &&
           glyph_is_blank(text) &&
           !reply_reason_is_length(record->finish_reason);
}

static struct reply_meaning read_tool_calls(struct conversation *conversation,
                                            json_t *message,
                                            const struct record *record)
{
    json_t *calls = json_object_get(message, "tool_calls");
    clear_calls(conversation, json_array_size(calls));
    for (size_t i = 0; i < json_array_size(calls); i++)
        take_call(conversation, calls, i);
    struct view text = reply_json_text(message, "content");
    bool empty = says_nothing(conversation, text, record);
    return (struct reply_meaning){
        .answer = { keep_text(conversation, text), text.len },
        .notice = empty ? view_of(prompt_empty) : record->observation,
        .empty = empty,
    };
}

/* -------------------------------------------------------------------- code
 */

static void take_code(struct conversation *conversation, struct view code)
{
    struct call *call = add_call(conversation);
    call->tool = TOOL_PYTHON;
    call->call_id = "";
    call->arguments = (struct view){ keep_text(conversation, code), code.len };
    call->is_code = true;
}

static struct reply_meaning calls_read_code(struct conversation *conversation,
                                            json_t *message,
                                            const struct record *record)
{
    struct view text = reply_json_text(message, "content");
    const struct codeact_rules rules = {
        .stopped = !reply_reason_is_length(record->finish_reason),
    };
    /* All of its length was reasoning; the next one would be the same. */
    bool spent = !rules.stopped && glyph_is_blank(text);
    struct reply_meaning meaning = { 0 };
    struct codeact said;
    codeact_read(&said, text, &rules);
    clear_calls(conversation, 1);
    if (said.code.len > 0)
        take_code(conversation, buf_view(&said.code));
    else if (said.final && !glyph_is_blank(buf_view(&said.answer)))
        meaning.answer =
            (struct view){ keep_text(conversation, buf_view(&said.answer)),
                           said.answer.len };
    else if (!spent)
        meaning = (struct reply_meaning){
            .notice = view_of(said.unclosed ? prompt_unclosed : prompt_idle),
            .empty = !said.unclosed,
        };
    if (said.cut < text.len)
        json_object_set_new(message, "content",
                            json_stringn(text.data, said.cut));
    codeact_finish(&said);
    return meaning;
}

/* --------------------------------------------------------------------- both
 */

void calls_of_cells(struct conversation *conversation)
{
    const struct view *cells = conversation->job->cells.items;
    size_t count = conversation->job->cells.count;
    bool own = conversation->job->session.len == 0;
    conversation->turn = 1;
    clear_calls(conversation, count);
    for (size_t i = 0; i < count; i++) {
        struct call *call = add_call(conversation);
        call->tool = TOOL_PYTHON;
        call->arguments = cells[i];
        call->call_id = "";
        call->is_code = true;
        /* An empty cell in a session that ends with the job does nothing. */
        call->answered = cells[i].len == 0 && own;
    }
}

/* The answer, behind what was said of it in replies that have paused. */
static struct view joined(struct conversation *conversation, struct view answer)
{
    struct view begun = conversation->begun;
    if (begun.len == 0 || answer.len == 0)
        return answer;
    char *all = arena_alloc(&conversation->arena, begun.len + answer.len);
    memcpy(all, begun.data, begun.len);
    memcpy(all + begun.len, answer.data, answer.len);
    return (struct view){ all, begun.len + answer.len };
}

/* The endpoint has stopped in the middle of its turn and wants to be asked to
 * go on (Anthropic's pause_turn). */
static struct reply_meaning read_pause(struct conversation *conversation,
                                       struct view text)
{
    clear_calls(conversation, 0);
    return (struct reply_meaning){
        .answer = { keep_text(conversation, text), text.len },
        .notice = view_of(prompt_pause),
        .paused = true,
    };
}

/* Some models call tools in CodeAct mode, too: then these calls count. */
static struct reply_meaning read_reply(struct conversation *conversation,
                                       json_t *message,
                                       const struct record *record)
{
    bool calls = json_array_size(json_object_get(message, "tool_calls")) > 0;
    struct view text = reply_json_text(message, "content");
    if (!calls && view_trimmed(text).len > 0 &&
        view_is(record->finish_reason, "pause_turn"))
        return read_pause(conversation, text);
    if (conversation->job->mode == MODE_CODEACT && !calls)
        return calls_read_code(conversation, message, record);
    return read_tool_calls(conversation, message, record);
}

struct reply_meaning calls_of_reply(struct conversation *conversation,
                                    json_t *message,
                                    const struct record *record)
{
    struct reply_meaning meaning = read_reply(conversation, message, record);
    meaning.answer = joined(conversation, meaning.answer);
    return meaning;
}
