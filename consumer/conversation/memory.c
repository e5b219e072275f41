/* memory.c - what was said in the earlier jobs of a session, and what this one
 * adds.
 */
#include "consumer/conversation/memory.h"

#include <assert.h>
#include <string.h>

#include "consumer/model/reply_json.h"
#include "schemas/message/text.h"

enum {
    CODE_BYTES = 1 << 10, /* of one cell, in the note */
    WORK_BYTES = 4 << 10, /* of the note */
    AROUND_BYTES = 96,    /* for an encoded exchange, beside its texts */
};

/* ------------------------------------------------------------------- shown
 */

static json_t *message_of(const char *role, struct view text)
{
    return json_pack("{s:s, s:o}", "role", role, "content",
                     json_stringn(text.data, text.len));
}

static json_t *messages_of(const struct history *history)
{
    const struct exchange *all = history->exchanges.items;
    json_t *messages = json_array();
    for (size_t i = 0; i < history->exchanges.count; i++) {
        CLEANUP(buf_finish) struct buf question;
        buf_init(&question, 3 * (size_t)MAX_HISTORY_BYTES);
        buf_add(&question, all[i].question);
        if (all[i].work.len > 0)
            buf_printf(&question, "\n\n[What was done for this: %.*s]",
                       VIEW_ARG(all[i].work));
        json_array_append_new(messages,
                              message_of("user", buf_view(&question)));
        json_array_append_new(messages, message_of("assistant", all[i].answer));
    }
    return messages;
}

static void memory_forget(struct history *history, struct view job)
{
    struct list *list = &history->exchanges;
    struct exchange *all = list->items;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (!view_equal(all[i].job, job))
            all[count++] = all[i];
    list->count = count;
}

bool memory_recall(struct conversation *conversation, struct view bytes,
                   struct view blob, struct history *history,
                   struct arena *arena, struct err *err)
{
    const struct job *job = conversation->job;
    conversation_recall(conversation, NULL, (struct view){ 0 });
    if (!message_decode(&schema_history, bytes, history, arena, err)) {
        *history = (struct history){ 0 };
        return false;
    }
    memory_forget(history, job->id);
    if (job->history == HISTORY_ANEW)
        history->exchanges.count = 0;
    conversation_recall(conversation, messages_of(history), blob);
    return true;
}

/* -------------------------------------------------------------------- kept
 */

/* The texts of the message that the job is about. */
static void add_question(struct buf *out, const struct conversation *talk)
{
    const json_t *content = json_object_get(conversation_task(talk), "content");
    buf_init(out, MAX_JOB_BYTES);
    if (json_is_string(content))
        buf_append(out, json_string_value(content),
                   json_string_length(content));
    size_t i;
    json_t *part;
    json_array_foreach(content, i, part)
        buf_add(out, reply_json_text(part, "text"));
}

static void memory_add_names(struct buf *out, const char *what,
                             const struct conversation *talk, bool images)
{
    const char *before = what;
    for (size_t i = 0; i < talk->result_count; i++) {
        const struct list *list =
            images ? &talk->results[i].images : &talk->results[i].files;
        for (size_t j = 0; j < list->count; j++) {
            struct view name =
                images ? ((const struct image_ref *)list->items)[j].name
                       : ((const struct file_ref *)list->items)[j].name;
            buf_printf(out, "%s%.*s", before, VIEW_ARG(name));
            before = ", ";
        }
    }
}

static void add_cell(struct buf *out, const struct cell *cell)
{
    buf_add(out, VIEW("\n```python\n"));
    text_add_clipped(out, cell->code, CODE_BYTES);
    buf_add(out, VIEW("\n```"));
    if (cell->status != CELL_OK)
        buf_printf(out, "\n(ended with \"%s\")",
                   cell_status_names[cell->status]);
}

static void add_uploads(struct buf *out, const struct list *list)
{
    const struct file_ref *files = list->items;
    for (size_t i = 0; i < list->count; i++)
        buf_printf(out, "%s%.*s", i == 0 ? "\nUploaded: " : ", ",
                   VIEW_ARG(files[i].name));
}

static void add_work(struct buf *out, const struct conversation *talk)
{
    CLEANUP(buf_finish) struct buf whole;
    buf_init(&whole, 4 * (size_t)MAX_HISTORY_BYTES);
    add_uploads(&whole, &talk->job->files);
    for (size_t i = 0; i < talk->result_count; i++) {
        const struct record *result = &talk->results[i];
        if (result->cell.code.len > 0)
            add_cell(&whole, &result->cell);
        else
            buf_printf(&whole, "\n%.*s %s.", VIEW_ARG(result->tool),
                       result->failed ? "did not come to anything"
                                      : "was called");
    }
    memory_add_names(&whole, "\nImages: ", talk, true);
    memory_add_names(&whole, "\nFiles: ", talk, false);
    buf_init(out, WORK_BYTES);
    text_add_clipped(out, buf_view(&whole), WORK_BYTES);
}

/* With an output_schema: the value alone, not what the model wrote around it.
 */
static void add_answer(struct buf *out, const struct conversation *talk)
{
    buf_init(out, MAX_RECORD_BYTES);
    if (!talk->output) {
        buf_add(out, conversation_answer(talk));
        return;
    }
    CLEANUP(cleanup_free)
    char *text = json_dumps(talk->output, JSON_COMPACT | JSON_ENCODE_ANY);
    buf_add(out, view_of(text));
}

bool memory_is_due(const struct conversation *conversation)
{
    CLEANUP(buf_finish) struct buf question, answer;
    add_question(&question, conversation);
    add_answer(&answer, conversation);
    return question.len > 0 && answer.len > 0;
}

static size_t memory_exchange_bytes(const struct exchange *exchange)
{
    return AROUND_BYTES + exchange->question.len + exchange->work.len +
           exchange->answer.len;
}

static struct view clip(struct buf *out, struct view text, size_t max)
{
    buf_init(out, max);
    text_add_clipped(out, text, max);
    return buf_view(out);
}

size_t memory_write(struct buf *out, const struct history *before,
                    const struct conversation *conversation, uint64_t max)
{
    CLEANUP(buf_finish) struct buf asked, question, work, said, answer;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct exchange *old = before->exchanges.items;
    size_t left = before->exchanges.count;
    struct exchange *all = arena_alloc(&arena, (left + 1) * sizeof(*all));
    add_question(&asked, conversation);
    add_work(&work, conversation);
    add_answer(&said, conversation);
    all[left] = (struct exchange){
        .job = conversation->job->id,
        .question = clip(&question, buf_view(&asked), max / 4),
        .work = view_head(buf_view(&work), max / 4),
        .answer = clip(&answer, buf_view(&said), max / 4),
    };
    size_t first = left, sum = memory_exchange_bytes(&all[left]);
    while (first > 0 && left - first < MAX_EXCHANGES - 1 &&
           sum + memory_exchange_bytes(&old[first - 1]) <= max) {
        first--;
        all[first] = old[first];
        sum += memory_exchange_bytes(&all[first]);
    }
    struct history history = { { all + first, left + 1 - first } };
    struct err err;
    buf_init(out, MAX_HISTORY_BYTES);
    bool fits = message_encode(&schema_history, &history, out, &err);
    assert(fits);
    (void)fits;
    return history.exchanges.count;
}
