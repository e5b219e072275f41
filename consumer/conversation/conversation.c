/* conversation.c - the conversation so far, computed from the journal. */
#include "consumer/conversation/conversation.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/answer.h"
#include "consumer/conversation/approval.h"
#include "consumer/conversation/ask.h"
#include "consumer/conversation/calls.h"
#include "consumer/conversation/tools.h"
#include "consumer/conversation/window.h"
#include "consumer/model/reply.h"
#include "consumer/model/reply_json.h"
#include "consumer/tools/final.h"
#include "schemas/json/convert.h"
#include "schemas/json/output_schema.h"
#include "schemas/message/conversation.h"
#include "schemas/message/functions.h"
#include "schemas/message/glyph.h"

static json_t *json_text(struct view text)
{
    return json_stringn(!text.data ? "" : text.data, text.len);
}

static json_t *message_new(const char *role, struct view text)
{
    return json_pack("{s:s, s:o}", "role", role, "content", json_text(text));
}

/* ------------------------------------------------------------ beginning */

/* Without the first system message: that was of the earlier job, and this one
 * may have its own. */
static bool add_earlier(struct conversation *conversation, struct view earlier,
                        struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct kept_conversation kept;
    if (!conversation_decode(&kept, earlier, &arena, err))
        return err_prefix(err, "earlier");
    json_t *messages = json_from_value(kept.messages);
    const json_t *first = json_array_get(messages, 0);
    const char *role = json_string_value(json_object_get(first, "role"));
    if (role && strcmp(role, "system") == 0)
        json_array_remove(messages, 0);
    json_array_extend(conversation->messages, messages);
    json_decref(messages);
    return true;
}

/* Whether each call has its answer, now that both conversations are one. */
static bool check_answers(const struct conversation *conversation,
                          struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *all;
    return json_to_value(conversation->messages, &all, &arena, err) &&
           functions_check_answers(all, err);
}

static bool add_messages(struct conversation *conversation, struct view earlier,
                         struct err *err)
{
    const struct job *job = conversation->job;
    if (job->system.len > 0)
        json_array_append_new(conversation->messages,
                              message_new("system", job->system));
    if (earlier.len > 0 && !add_earlier(conversation, earlier, err))
        return false;
    if (!job->messages) {
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
                       struct view earlier, struct err *err)
{
    *conversation = (struct conversation){ .job = job };
    if (job->kind == JOB_CODE) {
        calls_of_cells(conversation);
        return true;
    }
    if (job->kind == JOB_SESSION)
        return true;
    conversation->messages = json_array();
    if (job->parameters)
        conversation->parameters = json_from_value(job->parameters);
    if (job->output_schema)
        conversation->schema = output_schema_read(job->output_schema, err);
    bool ok = (!job->output_schema || conversation->schema) &&
              add_messages(conversation, earlier, err) &&
              (earlier.len == 0 || check_answers(conversation, err));
    conversation->given = json_array_size(conversation->messages);
    return ok;
}

/* Of a job that was stopped in the middle of a turn's calls nothing of that
 * turn is kept: nobody can answer the calls that are open. A new reference. */
static json_t *messages_to_keep(const struct conversation *conversation)
{
    json_t *all = json_copy(conversation->messages);
    bool is_open = conversation_call(conversation) != NULL;
    while (is_open && json_array_size(all) > 0) {
        size_t last = json_array_size(all) - 1;
        const json_t *message = json_array_get(all, last);
        const char *role = json_string_value(json_object_get(message, "role"));
        is_open = !role || strcmp(role, "assistant") != 0;
        json_array_remove(all, last);
    }
    return all;
}

bool conversation_keep(const struct conversation *conversation, struct buf *out,
                       struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct kept_conversation kept;
    json_t *messages = messages_to_keep(conversation);
    buf_init(out, MAX_CONVERSATION_BYTES);
    bool ok = json_to_value(messages, &kept.messages, &arena, err) &&
              message_encode(&schema_conversation, &kept, out, err);
    json_decref(messages);
    return ok;
}

void conversation_finish(struct conversation *conversation)
{
    if (!conversation)
        return;
    json_decref(conversation->messages);
    json_decref(conversation->parameters);
    json_decref(conversation->schema);
    json_decref(conversation->output);
    json_decref(conversation->said);
    free(conversation->calls);
    free(conversation->results);
    free(conversation->digests);
    free(conversation->places);
    free(conversation->code_calls);
    free(conversation->said_items);
    spending_finish(&conversation->spending);
    arena_finish(&conversation->arena);
    *conversation = (struct conversation){ 0 };
}

/* -------------------------------------------------------------- answers */

/* output: a reference that is taken; NULL: the answer does not fit, and is no
 * end where another one may still be asked for. */
static void take_output(struct conversation *conversation, json_t *output)
{
    json_decref(conversation->output);
    conversation->output = output;
    conversation->misfits += !output;
    conversation->over = output || conversation->last.len > 0;
}

static void check_answer(struct conversation *conversation)
{
    CLEANUP(buf_finish) struct buf notice;
    buf_init(&notice, 1024);
    if (!conversation->schema)
        return;
    take_output(conversation,
                answer_read(conversation->schema, conversation->answer,
                            &conversation->misfit));
    if (conversation->over)
        return;
    answer_wrong(&conversation->misfit, &notice);
    json_array_append_new(conversation->messages,
                          message_new("user", buf_view(&notice)));
}

/* ---------------------------------------------------------------- items */

/* The search that is built in; what an operator puts in its place is one, too.
 */
static bool is_search(const struct call *call)
{
    return strcmp(call->tool, "search_web") == 0;
}

bool call_is_item(const struct call *call)
{
    return !call->is_callers && (call->is_code || is_search(call) ||
                                 strcmp(call->tool, TOOL_PYTHON) == 0);
}

/* Adds an item in the order of numbers. Number 0: a journal of a consumer that
 * knew no items, or nothing was said. */
static void add_item(struct conversation *conversation,
                     const struct said_item *item)
{
    size_t at = conversation->said_item_count;
    if (item->number == 0)
        return;
    struct said_item *items = reallocarray(conversation->said_items, at + 1,
                                           sizeof(*conversation->said_items));
    if (!items)
        abort();
    for (; at > 0 && items[at - 1].number > item->number; at--)
        items[at] = items[at - 1];
    items[at] = *item;
    conversation->said_items = items;
    conversation->said_item_count++;
    if (conversation->items < item->number)
        conversation->items = item->number;
}

/* The items of a reply that is the last of the messages, and those of the
 * functions that it calls. */
static void apply_items(struct conversation *conversation,
                        const struct record *record)
{
    size_t place = json_array_size(conversation->messages) - 1;
    struct said_item item = { .turn = conversation->turn, .place = place };
    item.kind = ITEM_REASONING;
    item.number = record->reasoning_item;
    add_item(conversation, &item);
    item.kind = ITEM_MESSAGE;
    item.number = record->item;
    add_item(conversation, &item);
    item.kind = ITEM_FUNCTION;
    item.number = record->function_item;
    for (size_t i = 0; i < conversation->call_count && item.number > 0; i++) {
        struct call *call = &conversation->calls[i];
        if (!call->is_callers)
            continue;
        item.call = view_of(call->call_id);
        add_item(conversation, &item);
        call->item = item.number++;
    }
}

void conversation_drop_items(struct conversation *conversation)
{
    size_t *count = &conversation->said_item_count;
    while (*count > 0 &&
           conversation->said_items[*count - 1].turn == conversation->turn)
        (*count)--;
}

/* A call is an item from its intent on; one that is not made, from its result.
 */
static void apply_call_item(struct conversation *conversation,
                            struct call *call, const struct record *record)
{
    if (record->item == 0)
        return;
    call->item = record->item;
    struct said_item item = {
        .number = record->item,
        .kind = is_search(call) ? ITEM_SEARCH : ITEM_CODE,
        .turn = conversation->turn,
        .call = arena_copy(&conversation->arena, view_of(call->id)),
    };
    if (item.kind == ITEM_SEARCH)
        item.text = call->arguments;
    add_item(conversation, &item);
}

/* -------------------------------------------------------------- replies */

/* What a reply took, be it a turn or a summary; and how its endpoint counts. */
static void apply_usage(struct conversation *conversation,
                        const struct record *record)
{
    conversation->model_ms += record->ms;
    if (record->usage.input_tokens > 0) {
        conversation->estimated = conversation->sent;
        conversation->counted = record->usage.input_tokens;
    }
    conversation->reply_id = VIEW("");
    spending_settle(&conversation->spending, record);
}

/* message: a reference that is taken. A reply with neither calls nor text is
 * not put into the messages: some endpoints refuse such a history. A notice
 * tells the model what was wrong with its reply; after an answer was asked for
 * there is none, since no other reply will come. */
static void apply_turn(struct conversation *conversation, json_t *message,
                       const struct record *record)
{
    conversation->turn++;
    struct reply_meaning meaning =
        calls_of_reply(conversation, message, record);
    bool told = meaning.notice.len > 0 && conversation->last.len == 0;
    bool idle = told && !meaning.paused;
    if (conversation->call_count > 0 ||
        !glyph_is_blank(reply_json_text(message, "content")))
        json_array_append(conversation->messages, message);
    if (json_array_size(conversation->messages) > 0)
        apply_items(conversation, record);
    if (told)
        json_array_append_new(conversation->messages,
                              message_new("user", meaning.notice));
    json_decref(message);
    conversation->answer = meaning.answer;
    conversation->begun =
        meaning.paused ? conversation->answer : (struct view){ 0 };
    conversation->idle = idle ? conversation->idle + 1 : 0;
    conversation->empty = idle && meaning.empty ? conversation->empty + 1 : 0;
    conversation->over =
        (conversation->call_count == 0 && !told) || conversation->last.len > 0;
    conversation->cut =
        conversation->over && reply_reason_is_length(record->finish_reason);
    if (conversation->over && !conversation->cut)
        check_answer(conversation);
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
    if (record->purpose == PURPOSE_SUMMARY) {
        summary_take(conversation, message);
        json_decref(message);
    } else {
        apply_turn(conversation, message, record);
    }
    apply_usage(conversation, record);
    return true;
}

/* ---------------------------------------------------------------- calls */

static struct call *
conversation_find_call(const struct conversation *conversation, struct view id)
{
    for (size_t i = 0; i < conversation->call_count; i++)
        if (view_is(id, conversation->calls[i].id))
            return &conversation->calls[i];
    return NULL;
}

const struct call *conversation_find(const struct conversation *conversation,
                                     struct view id)
{
    return conversation_find_call(conversation, id);
}

static void add_inner(struct conversation *conversation,
                      const struct record *record)
{
    struct code_call *code_call =
        reallocarray(conversation->code_calls,
                     conversation->code_call_count + 1, sizeof(*code_call));
    if (!code_call)
        abort();
    conversation->code_calls = code_call;
    code_call[conversation->code_call_count++] = (struct code_call){
        .call = record->call,
        .number = record->number,
        .hash = record->hash,
        .asked_as = record->number,
    };
}

/* The intent or result of a call that code made. */
static bool apply_inner(struct conversation *conversation,
                        const struct record *record, struct err *err)
{
    if (record->kind == RECORD_TOOL_INTENT) {
        add_inner(conversation, record);
        return true;
    }
    for (size_t i = conversation->code_call_count; i-- > 0;) {
        struct code_call *code_call = &conversation->code_calls[i];
        if (code_call->answered || code_call->number != record->number ||
            !view_equal(code_call->call, record->call) ||
            !view_equal(code_call->hash, record->hash))
            continue;
        code_call->answered = true;
        code_call->failed = record->failed;
        code_call->data = record->observation;
        if (!code_call->failed && view_is(record->tool, TOOL_FINAL) &&
            conversation->job->mode == MODE_CODEACT)
            conversation->final = code_call->data;
        return true;
    }
    return err_set(err, ERR_RETRY, "internal",
                   "record %zu of the journal is the result of a call that "
                   "was not begun",
                   conversation->records);
}

static void add_result(struct conversation *conversation,
                       const struct call *call, const struct record *record)
{
    size_t count = conversation->result_count + 1;
    conversation->results = reallocarray(conversation->results, count,
                                         sizeof(*conversation->results));
    conversation->digests = reallocarray(conversation->digests, count,
                                         sizeof(*conversation->digests));
    conversation->places = reallocarray(conversation->places, count,
                                        sizeof(*conversation->places));
    if (!conversation->results || !conversation->digests ||
        !conversation->places)
        abort();
    struct view what =
        record->cell.code.len > 0 ? record->cell.code : call_arguments(call);
    struct call_digest digest =
        brake_digest(brake_action(view_of(call->tool), what), record);
    digest.refused = record->brake == BRAKED_FORBID;
    conversation->results[count - 1] = *record;
    conversation->digests[count - 1] = digest;
    conversation->places[count - 1] = json_array_size(conversation->messages);
    conversation->result_count = count;
}

/* The message that tells the model of a result. Code in a text has no id, which
 * a tool message would need, so it is a message of the user. */
static json_t *observation_of(const struct call *call,
                              const struct record *record,
                              const struct err *misfit)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 2 * (size_t)MAX_RECORD_BYTES);
    if (call->is_code)
        buf_add(&text, VIEW("Observation:\n"));
    approval_note(call, &text);
    buf_add(&text, record->observation);
    if (record->brake == BRAKED_HINT)
        buf_add(&text, view_of(prompt_circles));
    if (misfit) {
        buf_add(&text, VIEW("\n"));
        answer_wrong(misfit, &text);
    }
    if (call->is_code)
        return message_new("user", buf_view(&text));
    return json_pack("{s:s, s:s, s:o}", "role", "tool", "tool_call_id",
                     call->call_id, "content", json_text(buf_view(&text)));
}

/* A cell that gave its answer to final_answer() has ended: takes the answer.
 * Returns what is wrong with it, or NULL. */
static const struct err *
conversation_take_answer(struct conversation *conversation)
{
    struct view given = conversation->final;
    json_t *value = json_loadb(given.data, given.len,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    struct view text = { json_string_value(value), json_string_length(value) };
    conversation->answer =
        arena_copy(&conversation->arena, json_is_string(value) ? text : given);
    conversation->over = true;
    if (conversation->schema)
        take_output(conversation, answer_value(conversation->schema, value,
                                               &conversation->misfit));
    json_decref(value);
    return conversation->over ? NULL : &conversation->misfit;
}

static bool apply_tool(struct conversation *conversation,
                       const struct record *record, struct err *err)
{
    if (record->number > 0)
        return apply_inner(conversation, record, err);
    struct call *call = conversation_find_call(conversation, record->call);
    if (!call)
        return err_set(err, ERR_RETRY, "internal",
                       "record %zu of the journal is about a call that is in "
                       "no reply",
                       conversation->records);
    apply_call_item(conversation, call, record);
    if (record->kind == RECORD_TOOL_INTENT) {
        call->intended = true;
        conversation->final = (struct view){ 0 };
        conversation->files_there = true;
        return true;
    }
    call->answered = true;
    if (record->emptied)
        conversation->files_there = false;
    conversation->tools_ms += record->ms;
    add_result(conversation, call, record);
    const struct err *misfit = NULL;
    if (record->cell.status == CELL_OK && conversation->final.len > 0)
        misfit = conversation_take_answer(conversation);
    if (conversation->messages)
        json_array_append_new(conversation->messages,
                              observation_of(call, record, misfit));
    return true;
}

/* Without a copy where there is nothing: most conversations then need no arena.
 */
static struct view kept(struct conversation *conversation, struct view text)
{
    return text.len == 0 ? (struct view){ 0 }
                         : arena_copy(&conversation->arena, text);
}

static bool shows_past(const struct conversation *conversation)
{
    const struct job *job = conversation->job;
    return !job->messages && job->earlier.len == 0 &&
           job->history != HISTORY_ANEW;
}

/* Intents name the same blob again and again: it is kept once. */
static struct view kept_name(struct conversation *conversation,
                             struct view blob)
{
    if (view_equal(blob, conversation->said_of))
        return conversation->said_of;
    if (view_equal(blob, conversation->kept_of))
        return conversation->kept_of;
    return kept(conversation, blob);
}

void conversation_recall(struct conversation *conversation, json_t *said,
                         struct view blob)
{
    json_decref(conversation->said);
    conversation->said = NULL;
    conversation->said_of = (struct view){ 0 };
    if (shows_past(conversation) && json_array_size(said) > 0) {
        conversation->said = json_incref(said);
        conversation->said_of = kept_name(conversation, blob);
    }
    json_decref(said);
}

/* A request did not fit into what was left of a limit: neither it nor another
 * one is made. */
static void apply_limit(struct conversation *conversation,
                        const struct record *record)
{
    conversation->over = conversation->spent = true;
    conversation->last = kept(conversation, record->last);
}

/* A request was too long, and its endpoint has counted it. One that counts no
 * further than to its window has counted too little: so only a count above our
 * estimate is taken. */
static void apply_count(struct conversation *conversation, uint64_t counted)
{
    bool known = conversation->counted > 0 && conversation->estimated > 0;
    uint64_t theirs = known ? conversation->counted : 1;
    uint64_t ours = known ? conversation->estimated : 1;
    if (counted * ours <= theirs * conversation->sent)
        return;
    conversation->estimated = conversation->sent;
    conversation->counted = counted;
}

static struct terms_hash conversation_hash_terms(struct view terms)
{
    struct terms_hash hash;
    if (EVP_Digest(terms.data, terms.len, hash.sha256, NULL, EVP_sha256(),
                   NULL) != 1)
        abort();
    return hash;
}

bool conversation_knows(const struct conversation *conversation,
                        struct view terms)
{
    struct terms_hash hash = conversation_hash_terms(terms);
    return memcmp(&hash, &conversation->terms, sizeof(hash)) == 0;
}

/* An intent that says that nothing is asked for: no answer, or no summary. */
static void apply_end(struct conversation *conversation,
                      const struct record *record)
{
    if (record->purpose != PURPOSE_SUMMARY) {
        apply_limit(conversation, record);
        return;
    }
    conversation->reply_id = VIEW("");
    summary_forgo(conversation, record);
}

/* An intent while another is open means that the outcome of the first is not
 * known. One that is "failed" closes the one before: that request came to
 * nothing, and was perhaps counted. */
static void apply_intent(struct conversation *conversation,
                         const struct record *record)
{
    if (record->terms.len > 0)
        conversation->terms = conversation_hash_terms(record->terms);
    if (record->failed && record->last.len > 0) {
        apply_end(conversation, record);
        return;
    }
    conversation->reply_id = VIEW("");
    if (record->failed) {
        spending_settle(&conversation->spending, record);
        apply_count(conversation, record->counted);
        return;
    }
    spending_ask(&conversation->spending, record);
    conversation->sent = record->tokens;
    if (record->purpose == PURPOSE_SUMMARY) {
        summary_intend(conversation, record);
        return;
    }
    conversation->summary.due = false;
    conversation->last = kept(conversation, record->last);
    conversation->kept = (size_t)record->kept;
    conversation->kept_of = kept_name(conversation, record->history);
}

/* Of a record whose bytes are in the arena: views of it may be kept. */
static bool apply_kept(struct conversation *conversation,
                       const struct record *record, struct err *err)
{
    switch (record->kind) {
    case RECORD_MODEL_REPLY:
        return apply_reply(conversation, record, err);
    case RECORD_MODEL_SENT:
        conversation->reply_id = record->reply_id;
        return true;
    case RECORD_APPROVAL:
        return approval_apply(conversation, record, err);
    default:
        return apply_tool(conversation, record, err);
    }
}

/* All records but intents are copied into the arena, and decoded there.
 * Thousands of conversations may wait for their reply, and most of an intent is
 * its terms, which are the same in all of them: so an intent is decoded in
 * passing, and what is needed of it is copied. */
bool conversation_apply(struct conversation *conversation, struct view bytes,
                        struct err *err)
{
    CLEANUP(arena_finish) struct arena passing = { 0 };
    struct arena *arena = &conversation->arena;
    struct record record;
    if (!message_decode(&schema_record, bytes, &record, &passing, err))
        return err_prefix(err, "record %zu of the journal",
                          conversation->records);
    bool ok = true;
    if (record.kind == RECORD_MODEL_INTENT)
        apply_intent(conversation, &record);
    else
        ok = message_decode(&schema_record, arena_copy(arena, bytes), &record,
                            arena, err) &&
             apply_kept(conversation, &record, err);
    if (record.span.len > 0)
        snprintf(conversation->span, sizeof(conversation->span), "%.*s",
                 VIEW_ARG(record.span));
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

const json_t *conversation_task(const struct conversation *conversation)
{
    for (size_t i = conversation->given; i-- > 0;) {
        json_t *message = json_array_get(conversation->messages, i);
        if (view_is(reply_json_text(message, "role"), "user"))
            return message;
    }
    return NULL;
}

const struct call *conversation_call(const struct conversation *conversation)
{
    for (size_t i = 0; i < conversation->call_count; i++)
        if (!conversation->calls[i].answered)
            return &conversation->calls[i];
    return NULL;
}

struct view call_arguments(const struct call *call)
{
    return call->edited.len > 0 ? call->edited : call->arguments;
}

enum next_action conversation_next(const struct conversation *conversation)
{
    /* Asked for an answer it may write calls all the same: nobody makes them.
     */
    if (conversation->over || conversation->aborted ||
        conversation_is_idle(conversation) ||
        conversation_failure(conversation))
        return NEXT_END;
    if (conversation_call(conversation))
        return NEXT_CALL;
    return conversation->job->kind == JOB_CONVERSATION &&
                   !conversation_hands_over(conversation)
               ? NEXT_ASK
               : NEXT_END;
}

bool conversation_hands_over(const struct conversation *conversation)
{
    bool calls = false;
    for (size_t i = 0; i < conversation->call_count; i++)
        calls |= conversation->calls[i].is_callers;
    return calls && !conversation->over && !conversation->aborted &&
           !conversation_call(conversation);
}

struct code_call *conversation_code_call(struct conversation *conversation,
                                         struct view call, uint64_t number,
                                         struct view hash)
{
    struct code_call *free_one = NULL;
    for (size_t i = 0; i < conversation->code_call_count; i++) {
        struct code_call *code_call = &conversation->code_calls[i];
        if (!view_equal(code_call->call, call) ||
            !view_equal(code_call->hash, hash))
            continue;
        if (code_call->asked_as == number)
            return code_call;
        if (code_call->asked_as == 0 && !free_one)
            free_one = code_call;
    }
    if (free_one)
        free_one->asked_as = number;
    return free_one;
}

void conversation_rerun(struct conversation *conversation, struct view call)
{
    for (size_t i = 0; i < conversation->code_call_count; i++)
        if (view_equal(conversation->code_calls[i].call, call))
            conversation->code_calls[i].asked_as = 0;
}

bool conversation_is_idle(const struct conversation *conversation)
{
    return conversation->idle >= MAX_IDLE;
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
    if (conversation_hands_over(conversation) ||
        (conversation->over && conversation->answer.len > 0))
        return conversation->answer;
    size_t end = json_array_size(conversation->messages);
    for (size_t i = end; i-- > conversation->given;) {
        json_t *message = json_array_get(conversation->messages, i);
        const char *role = json_string_value(json_object_get(message, "role"));
        struct view text = reply_json_text(message, "content");
        if (role && strcmp(role, "assistant") == 0 && text.len > 0)
            return text;
    }
    return (struct view){ 0 };
}

/* The cell ended by itself, or was stopped and the session kept its variables.
 */
static bool left_variables(const struct cell *cell)
{
    return cell->status == CELL_OK || cell->status == CELL_ERROR ||
           cell->status == CELL_EXIT || cell->state == CELL_KEPT ||
           cell->state == CELL_RESTORED;
}

uint64_t conversation_cells(const struct conversation *conversation)
{
    uint64_t cells = 0;
    for (size_t i = 0; i < conversation->result_count; i++)
        cells += conversation->results[i].cell.code.len > 0;
    return cells;
}

struct earlier_cells
conversation_earlier_cells(struct conversation *conversation)
{
    struct earlier_cell *cells =
        arena_alloc(&conversation->arena,
                    (conversation->result_count + 1) * sizeof(*cells));
    struct earlier_cells earlier = { .cells = cells };
    uint64_t number = 0;
    for (size_t i = 0; i < conversation->result_count; i++) {
        const struct record *record = &conversation->results[i];
        if (record->cell.code.len == 0)
            continue;
        number++;
        /* The session began anew: cells before this have left nothing. */
        if (record->cell.state == CELL_LOST)
            earlier.count = earlier.killed = 0;
        if (left_variables(&record->cell))
            cells[earlier.count++] =
                (struct earlier_cell){ record->call, record->cell.code,
                                       number };
        else if (!record->emptied)
            earlier.killed++;
    }
    return earlier;
}
