/* calls.c - reads what a reply asks to be done: its calls and their arguments,
 * in whatever form the model has written them. */
#include "consumer/conversation/calls.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/ask.h"
#include "consumer/conversation/codeact.h"
#include "consumer/conversation/tools.h"
#include "consumer/model/reply.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/glyph.h"
#include "schemas/message/limits.h"

enum {
    MAX_LAYERS = 3,     /* of arguments: strings inside strings */
    MOST_CALLS = 16,    /* in one text */
    MADE_ID_BYTES = 28, /* that a turn and an index add to an id */
};

static const char opening[] = "<tool_call>", closing[] = "</tool_call>";

/* ------------------------------------------------------------- arguments */

/* What stands between a fence's first line and its last. */
static struct view unfenced(struct view text)
{
    text = view_trimmed(text);
    if (!view_starts(text, "```"))
        return text;
    const char *line = memchr(text.data, '\n', text.len);
    if (!line)
        return text;
    size_t head = (size_t)(line + 1 - text.data);
    struct view body = { text.data + head, text.len - head };
    if (body.len >= 3 && memcmp(body.data + body.len - 3, "```", 3) == 0)
        body.len -= 3;
    return view_trimmed(body);
}

/* Bare newlines and tabs inside strings, which JSON does not allow, escaped. */
static void escape_controls(struct view text, struct buf *out)
{
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.data[i];
        if (byte == '"')
            quoted = !quoted;
        if (byte == '\\' && quoted && i + 1 < text.len) {
            buf_append(out, text.data + i, 2);
            i++;
        } else if (quoted && (unsigned char)byte < 0x20) {
            buf_printf(out, "\\u%04x", (unsigned int)byte);
        } else {
            buf_append(out, &byte, 1);
        }
    }
}

static json_t *arguments_parse(struct view text)
{
    return json_loadb(text.data, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                      NULL);
}

/* JSON, or JSON but for bare newlines. NULL: neither. */
static json_t *parse_loosely(struct view text)
{
    json_t *value = arguments_parse(text);
    if (value)
        return value;
    CLEANUP(buf_finish) struct buf escaped;
    buf_init(&escaped, text.len * 6 + 1);
    escape_controls(text, &escaped);
    return arguments_parse(buf_view(&escaped));
}

/* A string that holds JSON in turn is opened, some layers deep. */
static json_t *open_layers(json_t *value)
{
    for (int layer = 0; layer < MAX_LAYERS && json_is_string(value); layer++) {
        struct view inner = { json_string_value(value),
                              json_string_length(value) };
        json_t *next = parse_loosely(unfenced(inner));
        if (!json_is_object(next) && !json_is_string(next)) {
            json_decref(next);
            break;
        }
        json_decref(value);
        value = next;
    }
    return value;
}

static bool arguments_add_text(const json_t *value, struct buf *out)
{
    return buf_append(out, json_string_value(value), json_string_length(value));
}

/* The member of that name; failing that, the only text there is: models also
 * call it "input", "source" or "__arg1". */
static const json_t *find_member(json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!value && json_object_size(object) == 1)
        value = json_object_iter_value(json_object_iter(object));
    return json_is_string(value) ? value : NULL;
}

static bool arguments_read(json_t *value, const char *name, bool raw,
                           struct buf *out, struct err *err)
{
    if (json_is_object(value)) {
        const json_t *member = find_member(value, name);
        if (member)
            return arguments_add_text(member, out);
        return err_set(err, ERR_REJECT, "bad_field",
                       json_object_get(value, name)
                           ? "the argument \"%s\" must be a string"
                           : "the argument \"%s\" is missing",
                       name);
    }
    if (raw && json_is_string(value))
        return arguments_add_text(value, out);
    return err_set(err, ERR_REJECT, "bad_field",
                   "the arguments must be a JSON object like {\"%s\": \"...\"}",
                   name);
}

bool arguments_text(struct view arguments, const char *name, bool raw,
                    struct buf *out, struct err *err)
{
    struct view text = unfenced(arguments);
    if (text.len == 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "the argument \"%s\" is missing", name);
    json_t *value = parse_loosely(text);
    /* 42 and [1, 2] are JSON, and code as well. */
    bool code =
        !json_is_object(value) && !json_is_string(value) && text.data[0] != '{';
    if (raw && code) {
        json_decref(value);
        return buf_add(out, text);
    }
    value = open_layers(value);
    bool ok = arguments_read(value, name, raw, out, err);
    json_decref(value);
    return ok;
}

static bool add_object(const json_t *object, struct buf *out)
{
    char *text = json_dumps(object, JSON_COMPACT);
    bool added = text && buf_add(out, view_of(text));
    free(text);
    return added;
}

/* What is no object: nothing, or the one text that the tool wants. */
static json_t *object_of(struct view all, const char *text, const json_t *value)
{
    if (all.len == 0 || json_is_null(value))
        return json_object();
    if (!text || (!value && all.data[0] == '{'))
        return NULL;
    json_t *string = json_is_string(value)
                         ? json_string(json_string_value(value))
                         : json_stringn(all.data, all.len);
    return !string ? NULL : json_pack("{s:o}", text, string);
}

bool arguments_object(struct view arguments, const char *text, struct buf *out,
                      struct err *err)
{
    json_t *value =
        json_loadb(arguments.data, arguments.len, JSON_ALLOW_NUL, NULL);
    bool plain = json_is_object(value);
    json_decref(value);
    if (plain)
        return buf_add(out, arguments);
    struct view all = unfenced(arguments);
    value = all.len > 0 ? open_layers(parse_loosely(all)) : NULL;
    json_t *object = json_is_object(value) ? json_incref(value)
                                           : object_of(all, text, value);
    bool good = object && add_object(object, out);
    json_decref(object);
    json_decref(value);
    return good || err_set(err, ERR_REJECT, "bad_field",
                           "the arguments must be a JSON object");
}

/* ------------------------------------------------------ calls in a text */

static const char *text_calls_find(struct view text, const char *part)
{
    return text.len == 0 ? NULL
                         : memmem(text.data, text.len, part, strlen(part));
}

/* In quotes a tag is only mentioned. */
static bool is_quoted(struct view text, const char *at)
{
    return at > text.data && strchr("`\"'", at[-1]) && at[-1] != '\0';
}

/* JSON, or JSON but for bare newlines, in a fence or not. NULL: neither. */
static json_t *text_calls_parse(struct view text)
{
    CLEANUP(buf_finish) struct buf object = { 0 };
    text = view_trimmed(text);
    if (text.len > 0 && text.data[0] == '[')
        return json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    buf_init(&object, 2 * (size_t)MAX_RECORD_BYTES);
    if (text.len == 0 || (text.data[0] != '{' && text.data[0] != '`') ||
        !arguments_object(text, NULL, &object, NULL))
        return NULL;
    return json_loadb(object.data, object.len, JSON_ALLOW_NUL, NULL);
}

/* {name, arguments}, {name, parameters}, or a call as the API has it. Borrowed.
 */
static json_t *function_of(json_t *call)
{
    json_t *inner = json_object_get(call, "function");
    return json_is_object(inner) ? inner : call;
}

static json_t *arguments_of(json_t *function)
{
    json_t *arguments = json_object_get(function, "arguments");
    return arguments ? arguments : json_object_get(function, "parameters");
}

static char *arguments_json(const json_t *arguments)
{
    return json_is_string(arguments)
               ? view_dup(view_of(json_string_value(arguments)))
               : json_dumps(arguments, JSON_COMPACT);
}

/* Whether the tool may be called, and takes these arguments. */
static bool text_call_fits(const struct terms *terms, const struct job *job,
                           struct view name, const char *arguments)
{
    CLEANUP(buf_finish) struct buf code = { 0 };
    struct err err;
    if (view_is(name, TOOL_PYTHON)) {
        if (job->mode != MODE_CODEACT && terms->tools &&
            !tools_have_python(terms->tools))
            return false;
        buf_init(&code, MAX_CODE_BYTES);
        return arguments_text(view_of(arguments), TOOL_PYTHON_CODE, false,
                              &code, &err);
    }
    if (tools_function(job, name)) {
        buf_init(&code, MAX_RECORD_BYTES);
        return arguments_object(view_of(arguments), NULL, &code, NULL);
    }
    const struct tool *tool = terms_tool(terms, job, name, &err);
    json_t *taken =
        !tool ? NULL : tool_arguments(tool, view_of(arguments), &err);
    json_decref(taken);
    return taken;
}

static bool text_calls_add_one(json_t *calls, json_t *call,
                               const struct terms *terms, const struct job *job)
{
    json_t *function = function_of(call), *given = arguments_of(function);
    struct view name = reply_json_text(function, "name");
    if (name.len == 0 || (!json_is_object(given) && !json_is_string(given)))
        return false;
    CLEANUP(cleanup_free) char *arguments = arguments_json(given);
    if (!arguments || json_array_size(calls) == MOST_CALLS ||
        !text_call_fits(terms, job, name, arguments))
        return false;
    return json_array_append_new(
               calls, json_pack("{s:s, s:s, s:{s:o, s:s}}", "id", "", "type",
                                "function", "function", "name",
                                json_stringn(name.data, name.len), "arguments",
                                arguments)) == 0;
}

/* An object, or a list of them. */
static bool text_calls_add(json_t *calls, struct view text,
                           const struct terms *terms, const struct job *job)
{
    json_t *json = text_calls_parse(text), *call;
    bool good = json_is_object(json)
                    ? text_calls_add_one(calls, json, terms, job)
                    : json_array_size(json) > 0;
    size_t i;
    json_array_foreach(json, i, call)
        good = good && text_calls_add_one(calls, call, terms, job);
    json_decref(json);
    return good;
}

/* Calls in tags. What stands before the first is what the model says beside
 * them. */
static bool read_tags(json_t *calls, struct view text, const char *first,
                      const struct terms *terms, const struct job *job)
{
    for (const char *at = first; at;) {
        at += strlen(opening);
        struct view rest = { at, text.len - (size_t)(at - text.data) };
        const char *end = text_calls_find(rest, closing),
                   *next = text_calls_find(rest, opening);
        if (!end) /* the last may lack its end */
            end = next ? next : rest.data + rest.len;
        if (!text_calls_add(calls, (struct view){ at, (size_t)(end - at) },
                            terms, job))
            return false;
        at = next;
    }
    return true;
}

/* Reasoning that stands in the text is marked by its place: then that stays. */
static json_t *with_calls(json_t *message, json_t *calls, struct view rest)
{
    json_t *made = json_copy(message);
    json_object_set(made, "tool_calls", calls);
    if (!json_object_get(message, "opaque"))
        json_object_set_new(made, "content",
                            rest.len > 0 ? json_stringn(rest.data, rest.len)
                                         : json_null());
    return made;
}

json_t *text_calls_read(json_t *message, const struct terms *terms,
                        const struct job *job)
{
    struct view text = reply_json_text(message, "content");
    const char *first = text_calls_find(text, opening);
    if (first && is_quoted(text, first))
        first = NULL;
    struct view rest = { text.data, first ? (size_t)(first - text.data) : 0 };
    json_t *calls = json_array(), *made = NULL;
    /* An answer that must fit output_schema may look like a call. */
    bool bare = !first && !job->output_schema;
    bool found = !json_object_get(message, "tool_calls") &&
                 ((first && read_tags(calls, text, first, terms, job)) ||
                  (bare && text_calls_add(calls, text, terms, job)));
    if (found)
        made = with_calls(message, calls, view_trimmed(rest));
    json_decref(calls);
    return made ? made : json_incref(message);
}

/* ---------------------------------------------------------------- a reply */

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
 * endpoints refuse such histories. One that is made of a long id is none of it:
 * the result, which has the ids of calls of functions, holds no longer ones. */
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
    bool fits = *text != '\0' && strlen(text) + MADE_ID_BYTES < MAX_NAME_BYTES;
    return json_sprintf("%s_%llu_%zu", fits ? text : "call",
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

/* The object that the arguments of a function mean, for the caller; what is no
 * object is handed out as the model wrote it. */
static void take_function(struct conversation *conversation, struct call *call)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 2 * (size_t)MAX_RECORD_BYTES);
    call->is_callers = call->answered = true;
    if (arguments_object(call->arguments, NULL, &text, NULL) && buf_ok(&text))
        call->arguments =
            (struct view){ keep_text(conversation, buf_view(&text)), text.len };
}

static void take_call(struct conversation *conversation, json_t *calls,
                      size_t index)
{
    json_t *said = json_array_get(calls, index);
    json_t *function = json_object_get(said, "function");
    json_t *own = json_object_get(said, "id");
    if (json_string_length(own) > MAX_NAME_BYTES &&
        tools_function(conversation->job, reply_json_text(function, "name")))
        own = NULL; /* the result, which has it too, holds no longer ones */
    json_t *id = unique_id(conversation, calls, own, index);
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
    if (tools_function(conversation->job, view_of(call->tool)))
        take_function(conversation, call);
    else
        call->number = ++conversation->called;
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
