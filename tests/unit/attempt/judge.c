/* judge.c - what must hold: of each write, each request, and at the end. */
#include "tests/unit/attempt/judge.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/event.h"
#include "schemas/message/journal.h"
#include "schemas/message/limits.h"
#include "tests/unit/attempt/life.h"

enum { MOST_DEEDS = 512, TEXT_BYTES = 64 << 10, MOST_ITEMS = 1024 };

/* A call: of the model (number 0), or of the code of one. */
struct deed {
    char call[32];
    uint64_t number;
    bool intended, answered, is_cell;
    bool left_state; /* in the session: its result says so */
    char tool[32], word[32];
    char hash[65];
    char code[2048];
    unsigned times, losses;
    char holder[32]; /* the session that the cell began in */
    uint64_t epoch;  /* of the attempt that it began in; 0: of more than one */
};

static struct {
    struct deed deeds[MOST_DEEDS];
    size_t deed_count;
    bool open; /* an intent waits for its reply */
    size_t intent;
    char hash[65];
    bool charged;
    bool sent; /* a reply of this turn is kept */
    uint64_t sent_serial;
    bool settled;
    uint64_t settled_tokens;
    uint64_t turns, input, output;
    uint64_t replies[MOST_RECORDS];
    size_t reply_count;
    char answer[96];  /* of the last reply */
    size_t functions; /* that it calls: the caller's */
    size_t cells;
    /* What a follower has of the turn, and of the cell, that goes on. */
    struct buf text, out;
    char out_call[32];
    char cell_call[32]; /* of the last cell in the journal */
    char holder[32]; /* the session that it ran in, if it left its state there
                        in one attempt; else "" */
    uint64_t epoch;  /* that attempt's */
    struct buf cell_out;
    char items[MOST_ITEMS][40]; /* what each item is of: by its number - 1 */
    uint64_t item_count;
    uint64_t void_items; /* as many were there when the turn began */
    bool ended;
} judge;

void judge_reset(void)
{
    buf_finish(&judge.text);
    buf_finish(&judge.out);
    buf_finish(&judge.cell_out);
    memset(judge.deeds, 0, judge.deed_count * sizeof(judge.deeds[0]));
    size_t head = offsetof(__typeof__(judge), deed_count);
    memset((char *)&judge + head, 0, sizeof(judge) - head);
    buf_init(&judge.text, TEXT_BYTES);
    buf_init(&judge.out, TEXT_BYTES);
    buf_init(&judge.cell_out, TEXT_BYTES);
}

#define COPY(text, view) snprintf(text, sizeof(text), "%.*s", VIEW_ARG(view))

static struct deed *find_deed(struct view call, uint64_t number)
{
    for (size_t i = 0; i < judge.deed_count; i++)
        if (judge.deeds[i].number == number &&
            view_is(call, judge.deeds[i].call))
            return &judge.deeds[i];
    return NULL;
}

static struct deed *need_deed(struct view call, uint64_t number)
{
    struct deed *deed = find_deed(call, number);
    if (deed != NULL)
        return deed;
    demand(judge.deed_count < MOST_DEEDS, "bounded", "%zu calls",
           judge.deed_count);
    deed = &judge.deeds[judge.deed_count++];
    COPY(deed->call, call);
    deed->number = number;
    return deed;
}

/* "W12.3" of a text that has it. */
static void find_word(struct view text, char word[32])
{
    const char *end = text.data + text.len;
    const char *at = text.len > 0 ? memchr(text.data, 'W', text.len) : NULL;
    size_t len = 0;
    while (at != NULL && at + len < end && len < 31 &&
           strchr("W0123456789.", at[len]) != NULL)
        len++;
    snprintf(word, 32, "%.*s", (int)len, at == NULL ? "" : at);
}

/* The number behind that word; 0: it is not there. */
static uint64_t number_after(struct view text, const char *word)
{
    const char *at =
        text.len == 0 ? NULL : memmem(text.data, text.len, word, strlen(word));
    uint64_t number = 0;
    if (at == NULL)
        return 0;
    for (at += strlen(word); at < text.data + text.len && *at == ' '; at++)
        ;
    for (; at < text.data + text.len && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

static size_t count_of(struct view text, const char *word)
{
    size_t count = 0;
    for (size_t i = 0; i + strlen(word) <= text.len; i++)
        count += memcmp(text.data + i, word, strlen(word)) == 0;
    return count;
}

/* ----------------------------------------------------------------- journal */

static void judge_intent(const struct record *record)
{
    judge.open = !record->failed;
    if (record->failed)
        return;
    demand(record->turn == judge.turns + 1, "journal_order",
           "an intent of turn %llu after %llu replies",
           (unsigned long long)record->turn, (unsigned long long)judge.turns);
    for (size_t i = 0; i < judge.deed_count; i++)
        demand(judge.deeds[i].answered || judge.deeds[i].number > 0 ||
                   !judge.deeds[i].intended,
               "journal_order", "the model is asked before call %s has ended",
               judge.deeds[i].call);
    demand(judge.functions == 0, "journal_order",
           "the model is asked, and the caller has functions to run");
    judge.intent = facts.record_count - 1;
    judge.charged = false;
    COPY(judge.hash, record->hash);
}

static void judge_usage(const struct record *record)
{
    const struct usage *usage = &record->usage;
    uint64_t tokens =
        usage->input_tokens + usage->output_tokens + usage->uncounted_tokens;
    demand(!judge.settled || judge.settled_tokens == tokens, "settled",
           "%llu tokens were settled for %llu",
           (unsigned long long)judge.settled_tokens,
           (unsigned long long)tokens);
    judge.settled = false;
    judge.input += usage->input_tokens;
    judge.output += usage->output_tokens;
}

static void judge_reply(const struct record *record)
{
    uint64_t serial = number_after(record->message, "\"R");
    const struct served *served = server_reply(serial);
    demand(judge.open, "journal_order", "a reply that no intent waits for");
    judge.open = judge.sent = false;
    judge.turns += record->purpose == PURPOSE_TURN;
    demand(served != NULL, "own_answer", "a reply that no model has made");
    demand(served->whole || served->fetched, "own_answer",
           "R%llu did not come to its end", (unsigned long long)serial);
    demand(served->intent == judge.intent, "own_answer",
           "R%llu was asked for by record %zu, and is taken for record %zu",
           (unsigned long long)serial, served->intent, judge.intent);
    for (size_t i = 0; i < judge.reply_count; i++)
        demand(judge.replies[i] != serial, "record_once",
               "R%llu stands there twice", (unsigned long long)serial);
    judge.replies[judge.reply_count++] = serial;
    snprintf(judge.answer, sizeof(judge.answer), "%s", served->text);
    judge.functions = count_of(record->message, "\"callers\"");
    demand(!served->counted ||
               record->usage.input_tokens + record->usage.output_tokens ==
                   SERVED_TOKENS,
           "settled", "R%llu took other tokens", (unsigned long long)serial);
    uint64_t most = life_max_turns();
    demand(judge.turns <= most + 1, "limit_kept",
           "turn %llu of a job that may have %llu",
           (unsigned long long)judge.turns, (unsigned long long)most);
}

static void judge_tool_intent(const struct record *record)
{
    struct deed *deed = need_deed(record->call, record->number);
    demand(!deed->intended && !deed->answered, "record_once",
           "a second intent of call %s/%llu", deed->call,
           (unsigned long long)deed->number);
    deed->intended = true;
    COPY(deed->tool, record->tool);
    COPY(deed->hash, record->hash);
    find_word(record->arguments, deed->word);
}

static void judge_holder(const struct deed *deed, const struct record *record)
{
    bool moved = *judge.holder != 0 && judge.epoch == facts.epoch &&
                 strcmp(judge.holder, deed->holder) != 0;
    bool here = deed->epoch == facts.epoch;
    demand(!moved || !here || record->cell.state != CELL_KEPT, "loss_told",
           "cell %s ran in %s, the one before it in %s, and is told that its "
           "session was kept",
           deed->call, deed->holder, judge.holder);
    strcpy(judge.holder, here && deed->left_state ? deed->holder : "");
    judge.epoch = facts.epoch;
}

static void judge_cell_result(struct deed *deed, const struct record *record)
{
    demand(record->cell.status != CELL_INTERRUPTED || facts.cancelled_ms > 0 ||
               (facts.deadline_ms > 0 && world_ms() >= facts.deadline_ms),
           "not_interrupted", "call %s was interrupted", deed->call);
    if (record->cell.state == CELL_LOST)
        for (size_t i = 0; i < judge.deed_count; i++)
            judge.deeds[i].left_state = false;
    deed->left_state =
        (record->cell.status == CELL_OK || record->cell.status == CELL_ERROR) &&
        record->cell.state != CELL_ROLLED_BACK;
    judge_holder(deed, record);
    COPY(judge.cell_call, record->call);
    buf_clear(&judge.cell_out);
    buf_add(&judge.cell_out, record->cell.out);
    judge.cells++;
}

static void judge_tool_result(const struct record *record)
{
    struct deed *deed = need_deed(record->call, record->number);
    bool ran = record->cell.code.len > 0;
    demand(!deed->answered, "record_once", "a second result of call %s/%llu",
           deed->call, (unsigned long long)deed->number);
    demand(deed->intended || (record->failed && !ran), "intent_before_act",
           "a result of call %s/%llu without its intent", deed->call,
           (unsigned long long)deed->number);
    demand(!view_is(record->tool, "callers"), "intent_before_act",
           "a function of the caller is run");
    deed->answered = true;
    uint64_t value = number_after(record->observation, "\"value\":");
    demand(ran || value == 0 || life_tool_answer(value, deed->word, deed->hash),
           "own_answer", "call %s/%llu has the value of another one",
           deed->call, (unsigned long long)deed->number);
    if (ran)
        judge_cell_result(deed, record);
}

void judge_record(struct view bytes, bool by_consumer)
{
    struct arena arena = { 0 };
    struct record record;
    struct err err = { 0 };
    demand(message_decode(&schema_record, bytes, &record, &arena, &err),
           "journal_order", "a record that cannot be read: %s", err.text);
    trace("  journal %zu: %s turn %llu call %.*s/%llu%s",
          facts.record_count - 1, record_kind_names[record.kind],
          (unsigned long long)record.turn, VIEW_ARG(record.call),
          (unsigned long long)record.number, record.failed ? ", failed" : "");
    demand(
        !by_consumer || record.attempt == 0 || record.attempt == facts.attempts,
        "fence", "a record of attempt %llu in attempt %llu",
        (unsigned long long)record.attempt, (unsigned long long)facts.attempts);
    switch (record.kind) {
    case RECORD_MODEL_INTENT:
        judge_intent(&record);
        break;
    case RECORD_MODEL_REPLY:
        judge_reply(&record);
        break;
    case RECORD_MODEL_SENT:
        demand(judge.open, "journal_order", "sent, and not intended");
        judge.sent = true;
        judge.sent_serial = number_after(record.reply_id, "resp_");
        break;
    case RECORD_TOOL_INTENT:
        judge_tool_intent(&record);
        break;
    case RECORD_TOOL_RESULT:
        judge_tool_result(&record);
        break;
    case RECORD_APPROVAL: /* it may throw the reply away */
        if (record.verdict == VERDICT_REGENERATE)
            judge.functions = 0;
        break;
    default:
        break;
    }
    if (record.kind == RECORD_MODEL_REPLY || record.kind == RECORD_MODEL_INTENT)
        judge_usage(&record);
    arena_finish(&arena);
}

/* The record that it is settled with comes next. */
void judge_settled(bool held, uint64_t tokens)
{
    judge.settled = held;
    judge.settled_tokens = tokens;
}

/* ---------------------------------------------------------------- requests */

void judge_request(const struct visit *visit)
{
    if (visit->host != facts.owner) {
        demand(facts.owner >= 0 || life_was_lost(visit->host),
               "intent_before_act",
               "a model is asked by who has given the job back");
        return;
    }
    demand(judge.open && strcmp(visit->hash, judge.hash) == 0,
           "intent_before_act", "a model is asked, and the journal %s",
           judge.open ? "tells of another request" : "has no intent");
    demand(!judge.sent || server_missed(judge.sent_serial), "paid_once",
           "a model is asked again, and R%llu is kept",
           (unsigned long long)judge.sent_serial);
    demand(!judge.charged, "paid_once", "a model is asked again for record %zu",
           judge.intent);
}

size_t judge_charge(const struct visit *visit)
{
    if (visit->host == facts.owner)
        judge.charged = true;
    return visit->host == facts.owner ? judge.intent : MOST_RECORDS;
}

/* As the product names a call of code: by its tool and its arguments. */
static void hash_call(const char *tool, const char *word, char hex[65])
{
    char text[128];
    unsigned char hash[EVP_MAX_MD_SIZE];
    int len =
        snprintf(text, sizeof(text), "%s%c{\"word\": \"%s\"}", tool, 0, word);
    EVP_Digest(text, (size_t)len, hash, NULL, EVP_sha256(), NULL);
    for (size_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}

void judge_tool(const struct visit *visit)
{
    char word[32], hash[65], tool[32];
    struct deed *deed = NULL;
    const char *path = strrchr(visit->url, '/') + 1;
    snprintf(tool, sizeof(tool), "%.*s", (int)strcspn(path, "?"), path);
    find_word(view_of(visit->post ? visit->body : path), word);
    hash_call(tool, word, hash);
    life_tool_served(visit->serial, word, hash);
    for (size_t i = 0; i < judge.deed_count; i++)
        if (strcmp(judge.deeds[i].tool, tool) == 0 &&
            (strcmp(judge.deeds[i].hash, hash) == 0 ||
             strcmp(judge.deeds[i].word, word) == 0))
            deed = &judge.deeds[i];
    demand(deed != NULL && deed->intended, "intent_before_act",
           "%s(%s) is called, and the journal has no intent", tool, word);
    demand(!deed->answered || visit->host != facts.owner, "done_once",
           "%s(%s) is called, and the journal has its result", tool, word);
    bool once = strcmp(tool, "order") == 0 || strcmp(tool, "pay") == 0;
    demand(!once || deed->times == 0, "unknown_outcome",
           "%s(%s) is called a second time", tool, word);
    deed->times++;
}

/* Without the job's id, which is before it. */
static struct deed *deed_of_cell(struct view call)
{
    const char *slash = memchr(call.data, '/', call.len);
    struct view own = { slash + 1, call.len - (size_t)(slash + 1 - call.data) };
    return find_deed(own, 0);
}

void judge_cell_lost(struct view call)
{
    struct deed *deed = deed_of_cell(call);
    if (deed != NULL && !deed->answered)
        deed->losses++;
}

void judge_cell(const char *holder, struct view call, struct view code,
                bool (*ran)(const void *box, const char *call), const void *box)
{
    struct deed *deed = deed_of_cell(call);
    demand(deed != NULL && deed->intended, "intent_before_act",
           "cell %.*s runs in %s, and the journal has no intent",
           VIEW_ARG(call), holder);
    demand(!world.strict || deed->losses < 2, "cell_given_up",
           "cell %.*s runs again after %u executors have died of it",
           VIEW_ARG(call), deed->losses);
    /* One that has its result runs again to bring the session back. */
    for (size_t i = 0; i < judge.deed_count && !deed->answered; i++)
        demand(!judge.deeds[i].left_state || ran(box, judge.deeds[i].call),
               "state_there", "cell %.*s runs in %s, where %s has not run",
               VIEW_ARG(call), holder, judge.deeds[i].call);
    if (!deed->answered) {
        snprintf(deed->holder, sizeof(deed->holder), "%s", holder);
        deed->epoch = deed->times == 0 ? facts.epoch : 0;
    }
    if (deed->times++ == 0)
        COPY(deed->code, code);
    demand(view_is(code, deed->code) || code.len >= sizeof(deed->code),
           "done_once", "cell %.*s runs again, with other code",
           VIEW_ARG(call));
}

/* ---------------------------------------------------------------- follower */

static void follow_text(const char *type, const struct event_data *data)
{
    if (strcmp(type, "turn.started") == 0)
        buf_clear(&judge.text);
    if (strcmp(type, "message.delta") == 0)
        buf_add(&judge.text, data->text);
    if (strcmp(type, "message.completed") != 0)
        return;
    demand(judge.text.len == 0 || view_equal(buf_view(&judge.text), data->text),
           "text_once", "\"%.*s\" was heard of the text \"%.*s\"",
           VIEW_ARG(buf_view(&judge.text)), VIEW_ARG(data->text));
    buf_clear(&judge.text);
}

static void follow_cell(const char *type, const struct event_data *data)
{
    if (data->parent.len > 0)
        return;
    if (strcmp(type, "tool.started") == 0) {
        COPY(judge.out_call, data->call);
        buf_clear(&judge.out);
    }
    if (strcmp(type, "tool.output") == 0)
        buf_add(&judge.out, data->text);
    if (strcmp(type, "tool.completed") != 0 ||
        !view_is(data->call, judge.cell_call) ||
        !view_is(data->call, judge.out_call))
        return;
    demand(view_equal(buf_view(&judge.out), buf_view(&judge.cell_out)),
           "output_once",
           "\"%.*s\" was heard of cell %.*s, which printed "
           "\"%.*s\"",
           VIEW_ARG(buf_view(&judge.out)), VIEW_ARG(data->call),
           VIEW_ARG(buf_view(&judge.cell_out)));
}

/* "m2": the message of turn 2; "c2.0": a call. */
static void name_item(char name[40], const char *type,
                      const struct event_data *data)
{
    unsigned long long turn = data->turn;
    if (strncmp(type, "message.", 8) == 0)
        snprintf(name, 40, "m%llu", turn);
    else if (strcmp(type, "reasoning.delta") == 0)
        snprintf(name, 40, "r%llu", turn);
    else
        snprintf(name, 40, "%c%.*s",
                 strcmp(type, "function.called") == 0 ? 'f' : 'c',
                 VIEW_ARG(view_head(data->call, 36)));
}

static bool needs_item(const char *type, const struct event_data *data)
{
    static const char *const types[] = {
        "message.delta", "reasoning.delta", "function.called",
        "tool.output",   "image",           "display",
        "file",          "tool.cleared"
    };
    bool needs = strcmp(type, "tool.started") == 0 && data->code.len > 0;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        needs |= strcmp(type, types[i]) == 0;
    return needs;
}

static void follow_item(const char *type, const struct event_data *data)
{
    uint64_t item = data->item;
    char name[40];
    if (strcmp(type, "turn.started") == 0)
        judge.void_items = judge.item_count;
    demand(item > 0 || !needs_item(type, data), "item_numbers",
           "%s is about no item", type);
    if (item == 0)
        return;
    name_item(name, type, data);
    demand(item <= judge.item_count + 1 && item <= MOST_ITEMS, "item_numbers",
           "item %llu of %s begins, the last one was %llu",
           (unsigned long long)item, name,
           (unsigned long long)judge.item_count);
    if (item == judge.item_count + 1) {
        memcpy(judge.items[judge.item_count++], name, sizeof(name));
        return;
    }
    demand(strcmp(judge.items[item - 1], name) == 0, "item_numbers",
           "item %llu is %s, and was %s", (unsigned long long)item, name,
           judge.items[item - 1]);
    demand(item > judge.void_items || *name == 'c' || *name == 'f',
           "item_numbers", "item %llu of %s is void", (unsigned long long)item,
           name);
}

void judge_event(const struct published *published)
{
    struct arena arena = { 0 };
    struct event_data data = { 0 };
    struct err err = { 0 };
    demand(!judge.ended, "nothing_after_end", "%s comes after the end",
           published->type);
    judge.ended = event_is_terminal(view_of(published->type));
    trace("  event %llu: %s", (unsigned long long)facts.seq, published->type);
    demand(published->data.len == 0 ||
               message_decode(&schema_event_data, buf_view(&published->data),
                              &data, &arena, &err),
           "event_numbers", "an event that cannot be read: %s", err.text);
    follow_text(published->type, &data);
    follow_cell(published->type, &data);
    follow_item(published->type, &data);
    arena_finish(&arena);
}

/* --------------------------------------------------------------------- end */

static void judge_items(const struct result *result)
{
    static const char kinds[] = { [ITEM_MESSAGE] = 'm',
                                  [ITEM_REASONING] = 'r',
                                  [ITEM_FUNCTION] = 'f',
                                  [ITEM_CODE] = 'c',
                                  [ITEM_SEARCH] = 'c' };
    const struct result_item *items = result->items.items;
    uint64_t last = 0, cells = 0;
    for (size_t i = 0; i < result->items.count; i++) {
        demand(items[i].number > last && items[i].number <= judge.item_count,
               "item_numbers", "the result has item %llu behind %llu, of %llu",
               (unsigned long long)items[i].number, (unsigned long long)last,
               (unsigned long long)judge.item_count);
        last = items[i].number;
        demand(judge.items[last - 1][0] == kinds[items[i].kind], "item_numbers",
               "item %llu is %s, and %s in the result",
               (unsigned long long)last, judge.items[last - 1],
               item_kind_names[items[i].kind]);
        cells += items[i].cell > 0;
    }
    demand(cells == result->cells.count, "item_numbers",
           "%llu cells are items, of %zu", (unsigned long long)cells,
           result->cells.count);
}

static void judge_result(const struct result *result)
{
    judge_items(result);
    demand(result->status == facts.state, "result_true",
           "the result says %s, the end %s", job_state_names[result->status],
           job_state_names[facts.state]);
    demand(result->status != STATE_CANCELLED || facts.cancel || facts.aborted,
           "result_true", "cancelled, and nobody has said so");
    demand(result->cells.count == judge.cells, "result_true",
           "%zu cells of %zu in the journal", result->cells.count, judge.cells);
    demand(result->usage.input_tokens == judge.input &&
               result->usage.output_tokens == judge.output,
           "result_true", "the result counts other tokens than the journal");
    bool completed = result->status == STATE_COMPLETED;
    if (completed && life_is_conversation())
        demand(view_is(result->answer, judge.answer), "result_true",
               "the answer is \"%.*s\", the model said \"%s\"",
               VIEW_ARG(result->answer), judge.answer);
    demand(!completed || result->calls.count == judge.functions, "result_true",
           "%zu calls of functions, the model made %zu", result->calls.count,
           judge.functions);
    for (size_t i = 0; i < judge.deed_count && completed; i++)
        demand(judge.deeds[i].answered || judge.deeds[i].number > 0 ||
                   !judge.deeds[i].intended,
               "result_true", "completed, and call %s has not ended",
               judge.deeds[i].call);
    demand(!completed || judge.cells == 0 || facts.session[0] == '\0' ||
               facts.session_saved || result->notes.len > 0,
           "session_saved", "the job ends, and its session is not saved");
}

void judge_end(struct view bytes)
{
    struct arena arena = { 0 };
    struct result result;
    struct err err = { 0 };
    demand(facts.ends == 1, "one_end", "the job ends %zu times", facts.ends);
    if (bytes.len == 0)
        return; /* no consumer had it */
    demand(message_decode(&schema_result, bytes, &result, &arena, &err),
           "result_true", "a result that cannot be read: %s", err.text);
    judge_result(&result);
    arena_finish(&arena);
}

void judge_over(void)
{
    demand(facts.ends == 1 && judge.ended, "one_end", "%zu ends", facts.ends);
}
