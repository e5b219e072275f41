/* conversation.c - what was said and done so far: a fold over the journal. */
#include "consumer/conversation/conversation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/arguments.h"
#include "consumer/conversation/prompt.h"
#include "consumer/conversation/tools.h"
#include "schemas/json/convert.h"

static json_t *json_text(struct view text)
{
    return json_stringn(text.data == NULL ? "" : text.data, text.len);
}

static json_t *message_new(const char *role, struct view text)
{
    return json_pack("{s:s, s:o}", "role", role, "content", json_text(text));
}

static struct view string_view(const json_t *string)
{
    return (struct view){ json_string_value(string),
                          json_string_length(string) };
}

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
    if (conversation->calls == NULL)
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

/* ------------------------------------------------------------ beginning */

static void plan_cells(struct conversation *conversation)
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
        /* Nothing to do, in a session that nobody else will see. */
        call->answered = cells[i].len == 0 && own;
    }
}

static bool add_messages(struct conversation *conversation, struct err *err)
{
    const struct job *job = conversation->job;
    if (job->system.len > 0)
        json_array_append_new(conversation->messages,
                              message_new("system", job->system));
    if (job->messages == NULL) {
        json_array_append_new(conversation->messages,
                              message_new("user", job->prompt));
        return true;
    }
    json_t *messages = json_from_value(job->messages);
    bool ok = json_is_array(messages) && json_array_size(messages) > 0;
    if (ok)
        json_array_extend(conversation->messages, messages);
    json_decref(messages);
    return ok || err_set(err, ERR_REJECT, "bad_field",
                         "messages must be an array of chat messages");
}

bool conversation_init(struct conversation *conversation, const struct job *job,
                       struct err *err)
{
    *conversation = (struct conversation){ .job = job };
    if (job->kind == JOB_CODE) {
        plan_cells(conversation);
        return true;
    }
    if (job->kind == JOB_SESSION)
        return true;
    conversation->messages = json_array();
    bool ok = add_messages(conversation, err);
    conversation->given = json_array_size(conversation->messages);
    return ok;
}

void conversation_finish(struct conversation *conversation)
{
    if (conversation == NULL)
        return;
    json_decref(conversation->messages);
    free(conversation->calls);
    free(conversation->results);
    free(conversation->inner);
    arena_finish(&conversation->arena);
    *conversation = (struct conversation){ 0 };
}

/* -------------------------------------------------------------- replies */

static bool id_is_used(const json_t *messages, const char *id)
{
    size_t i, j;
    json_t *message, *call;
    json_array_foreach(messages, i, message)
        json_array_foreach(json_object_get(message, "tool_calls"), j, call) {
            const char *used = json_string_value(json_object_get(call, "id"));
            if (used != NULL && strcmp(used, id) == 0)
                return true;
        }
    return false;
}

/* Endpoints refuse histories with missing or repeated ids, which models write
 * all the same. */
static json_t *unique_id(const struct conversation *conversation,
                         const json_t *calls, const json_t *id, size_t index)
{
    const char *text = json_is_string(id) ? json_string_value(id) : "";
    bool used = *text == '\0' || id_is_used(conversation->messages, text);
    for (size_t i = 0; i < index && !used; i++) {
        const char *other =
            json_string_value(json_object_get(json_array_get(calls, i), "id"));
        used = other != NULL && strcmp(other, text) == 0;
    }
    if (!used)
        return json_string(text);
    return json_sprintf("%s_%llu_%zu", *text == '\0' ? "call" : text,
                        (unsigned long long)conversation->turn, index);
}

/* What the history says the arguments were: the model's own bytes when an
 * endpoint takes them, else what they were understood as. */
static json_t *sane_arguments(const struct call *call)
{
    if (arguments_are_plain(call->arguments))
        return json_text(call->arguments);
    const struct cell_tool *tool = tool_find(view_of(call->tool));
    CLEANUP(buf_finish) struct buf code;
    buf_init(&code, MAX_RECORD_BYTES);
    if (tool == NULL ||
        !arguments_text(call->arguments, tool->text, tool->raw, &code, NULL))
        return json_string("{}");
    json_t *object = json_pack("{s:o}", tool->text, json_text(buf_view(&code)));
    char *text = json_dumps(object, JSON_COMPACT);
    json_t *string = json_string(text == NULL ? "{}" : text);
    free(text);
    json_decref(object);
    return string;
}

static void take_call(struct conversation *conversation, json_t *calls,
                      size_t index)
{
    json_t *said = json_array_get(calls, index);
    json_t *function = json_object_get(said, "function");
    json_t *id =
        unique_id(conversation, calls, json_object_get(said, "id"), index);
    struct call *call = add_call(conversation);
    call->call_id = keep_text(conversation, string_view(id));
    call->tool =
        keep_text(conversation, string_view(json_object_get(function, "name")));
    struct view arguments = string_view(json_object_get(function, "arguments"));
    call->arguments =
        (struct view){ keep_text(conversation, arguments), arguments.len };
    json_object_set_new(said, "id", id);
    json_object_set_new(function, "arguments", sane_arguments(call));
}

static bool apply_reply(struct conversation *conversation,
                        const struct record *record, struct err *err)
{
    json_t *message = json_loadb(record->message.data, record->message.len,
                                 JSON_ALLOW_NUL, NULL);
    if (!json_is_object(message)) {
        json_decref(message);
        return err_set(err, ERR_RETRY, "internal",
                       "record %zu of the journal holds no message",
                       conversation->records);
    }
    json_t *calls = json_object_get(message, "tool_calls");
    conversation->turn++;
    conversation->asked = false;
    clear_calls(conversation, json_array_size(calls));
    for (size_t i = 0; i < json_array_size(calls); i++)
        take_call(conversation, calls, i);
    struct view text = string_view(json_object_get(message, "content"));
    bool notice = record->observation.len > 0;
    if (json_array_size(calls) > 0 || text.len > 0)
        json_array_append(conversation->messages, message);
    if (notice)
        json_array_append_new(conversation->messages,
                              message_new("user", record->observation));
    json_decref(message);
    conversation->over = conversation->call_count == 0 && !notice;
    conversation->cut =
        conversation->over && (view_is(record->finish_reason, "length") ||
                               view_is(record->finish_reason, "max_tokens"));
    conversation->model_ms += record->ms;
    conversation->usage.input_tokens += record->usage.input_tokens;
    conversation->usage.output_tokens += record->usage.output_tokens;
    conversation->usage.cached_tokens += record->usage.cached_tokens;
    conversation->usage.model_calls += record->usage.model_calls;
    return true;
}

/* ---------------------------------------------------------------- calls */

static struct call *find_call(struct conversation *conversation, struct view id)
{
    for (size_t i = 0; i < conversation->call_count; i++)
        if (view_is(id, conversation->calls[i].id))
            return &conversation->calls[i];
    return NULL;
}

static void add_inner(struct conversation *conversation,
                      const struct record *record)
{
    struct inner *inner = reallocarray(
        conversation->inner, conversation->inner_count + 1, sizeof(*inner));
    if (inner == NULL)
        abort();
    conversation->inner = inner;
    inner[conversation->inner_count++] = (struct inner){
        .call = record->call,
        .number = record->number,
        .hash = record->hash,
        .asked_as = record->number,
    };
}

static bool apply_inner(struct conversation *conversation,
                        const struct record *record, struct err *err)
{
    if (record->kind == RECORD_TOOL_INTENT) {
        add_inner(conversation, record);
        return true;
    }
    for (size_t i = conversation->inner_count; i-- > 0;) {
        struct inner *inner = &conversation->inner[i];
        if (inner->answered || inner->number != record->number ||
            !view_equal(inner->call, record->call) ||
            !view_equal(inner->hash, record->hash))
            continue;
        inner->answered = true;
        inner->failed = record->failed;
        inner->data = record->observation;
        return true;
    }
    return err_set(err, ERR_RETRY, "internal",
                   "record %zu of the journal answers what nobody asked",
                   conversation->records);
}

static bool apply_tool(struct conversation *conversation,
                       const struct record *record, struct err *err)
{
    if (record->number > 0)
        return apply_inner(conversation, record, err);
    struct call *call = find_call(conversation, record->call);
    if (call == NULL)
        return err_set(err, ERR_RETRY, "internal",
                       "record %zu of the journal is about a call that nobody "
                       "made",
                       conversation->records);
    if (record->kind == RECORD_TOOL_INTENT) {
        call->intended = true;
        conversation->files_there = true;
        return true;
    }
    call->answered = true;
    if (record->emptied)
        conversation->files_there = false;
    conversation->tools_ms += record->ms;
    struct record *results =
        reallocarray(conversation->results, conversation->result_count + 1,
                     sizeof(*results));
    if (results == NULL)
        abort();
    conversation->results = results;
    results[conversation->result_count++] = *record;
    if (conversation->messages != NULL)
        json_array_append_new(conversation->messages,
                              json_pack("{s:s, s:s, s:o}", "role", "tool",
                                        "tool_call_id", call->call_id,
                                        "content",
                                        json_text(record->observation)));
    return true;
}

bool conversation_apply(struct conversation *conversation, struct view bytes,
                        struct err *err)
{
    struct record record;
    struct view kept = arena_copy(&conversation->arena, bytes);
    if (!message_decode(&schema_record, kept, &record, &conversation->arena,
                        err))
        return err_prefix(err, "record %zu of the journal",
                          conversation->records);
    bool ok = true;
    switch (record.kind) {
    case RECORD_MODEL_INTENT:
        /* A second intent: what became of the first one is not known. */
        if (!record.failed)
            conversation->usage.repeated_calls += conversation->asked;
        conversation->asked = !record.failed;
        break;
    case RECORD_MODEL_REPLY:
        ok = apply_reply(conversation, &record, err);
        break;
    default:
        ok = apply_tool(conversation, &record, err);
    }
    conversation->records += ok;
    return ok;
}

/* -------------------------------------------------------------- reading */

const struct record *
conversation_failure(const struct conversation *conversation)
{
    size_t count = conversation->result_count;
    if (conversation->job->kind != JOB_CODE || count == 0)
        return NULL;
    const struct record *last = &conversation->results[count - 1];
    return last->cell.status == CELL_OK ? NULL : last;
}

const struct call *conversation_call(const struct conversation *conversation)
{
    for (size_t i = 0; i < conversation->call_count; i++)
        if (!conversation->calls[i].answered)
            return &conversation->calls[i];
    return NULL;
}

enum next conversation_next(const struct conversation *conversation)
{
    if (conversation->over || conversation_failure(conversation) != NULL)
        return NEXT_END;
    if (conversation_call(conversation) != NULL)
        return NEXT_CALL;
    return conversation->job->kind == JOB_CONVERSATION ? NEXT_ASK : NEXT_END;
}

struct inner *conversation_inner(struct conversation *conversation,
                                 struct view call, uint64_t number,
                                 struct view hash)
{
    struct inner *free_one = NULL;
    for (size_t i = 0; i < conversation->inner_count; i++) {
        struct inner *inner = &conversation->inner[i];
        if (!view_equal(inner->call, call) || !view_equal(inner->hash, hash))
            continue;
        if (inner->asked_as == number)
            return inner;
        if (inner->asked_as == 0 && free_one == NULL)
            free_one = inner;
    }
    if (free_one != NULL)
        free_one->asked_as = number;
    return free_one;
}

void conversation_rerun(struct conversation *conversation, struct view call)
{
    for (size_t i = 0; i < conversation->inner_count; i++)
        if (view_equal(conversation->inner[i].call, call))
            conversation->inner[i].asked_as = 0;
}

json_t *conversation_request(const struct conversation *conversation)
{
    json_t *request = json_array();
    json_t *first = json_array_get(conversation->messages, 0);
    const char *role = json_string_value(json_object_get(first, "role"));
    json_t *content = json_object_get(first, "content");
    size_t from = 0;
    struct view own = { 0 };
    /* One system message: many endpoints take no second one. */
    if (role != NULL && strcmp(role, "system") == 0 &&
        json_is_string(content)) {
        own = string_view(content);
        from = 1;
    }
    CLEANUP(buf_finish) struct buf system;
    prompt_write(&system, conversation->job, own);
    json_array_append_new(request, message_new("system", buf_view(&system)));
    for (size_t i = from; i < json_array_size(conversation->messages); i++)
        json_array_append(request, json_array_get(conversation->messages, i));
    return request;
}

static struct view code_answer(const struct conversation *conversation)
{
    if (conversation->result_count == 0)
        return (struct view){ 0 };
    const struct cell *cell =
        &conversation->results[conversation->result_count - 1].cell;
    return cell->result.len > 0 ? cell->result : cell->out;
}

struct view conversation_answer(const struct conversation *conversation)
{
    if (conversation->job->kind == JOB_CODE)
        return code_answer(conversation);
    size_t end = json_array_size(conversation->messages);
    for (size_t i = end; i-- > conversation->given;) {
        json_t *message = json_array_get(conversation->messages, i);
        const char *role = json_string_value(json_object_get(message, "role"));
        struct view text = string_view(json_object_get(message, "content"));
        if (role != NULL && strcmp(role, "assistant") == 0 && text.len > 0)
            return text;
    }
    return (struct view){ 0 };
}

/* It came to an end of its own, or was stopped with its variables kept. */
static bool left_variables(const struct cell *cell)
{
    return cell->status == CELL_OK || cell->status == CELL_ERROR ||
           cell->status == CELL_EXIT || cell->state == CELL_KEPT ||
           cell->state == CELL_RESTORED;
}

struct past conversation_past(struct conversation *conversation)
{
    struct past_cell *cells =
        arena_alloc(&conversation->arena,
                    (conversation->result_count + 1) * sizeof(*cells));
    struct past past = { .cells = cells };
    for (size_t i = 0; i < conversation->result_count; i++) {
        const struct record *record = &conversation->results[i];
        if (record->cell.code.len == 0)
            continue;
        if (record->cell.state == CELL_LOST)
            past.count = past.killed = 0;
        if (left_variables(&record->cell))
            cells[past.count++] =
                (struct past_cell){ record->call, record->cell.code };
        else if (!record->emptied)
            past.killed++;
    }
    return past;
}
