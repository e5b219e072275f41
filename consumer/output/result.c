/* result.c - makes the result of a job. */
#include "consumer/output/result.h"

#include <assert.h>
#include <string.h>

#include "consumer/conversation/calls.h"
#include "consumer/model/reply_json.h"
#include "consumer/output/progress.h"
#include "schemas/json/convert.h"
#include "schemas/message/limits.h"
#include "schemas/message/text.h"
#include "schemas/service/log.h"

enum {
    SHORT_BYTES = 2 << 10, /* of a text that had to be cut */
    LEAST_BYTES = 200,     /* of a text that had to be cut once more */
    HEAD_BYTES = 4 << 10,  /* of the answer, in the event */
    LEAST_ANSWER_BYTES = 64 << 10,
    QUERY_BYTES = 1 << 10, /* of what was searched for */
};

struct result_writer {
    struct conversation *conversation;
    struct arena arena;
    struct result result;
    json_t *messages;
    struct buf notes;
};

struct result_error result_error_of(const struct err *why)
{
    if (why->kind == ERR_NONE)
        return (struct result_error){ 0 };
    return (struct result_error){
        .kind = why->kind == ERR_RETRY ? VIEW("retry") : VIEW("reject"),
        .code = view_of(why->code),
        .message = view_of(why->text),
        .retryable = why->kind == ERR_RETRY,
    };
}

static struct view clip(struct arena *arena, struct view text, size_t max)
{
    if (text.len <= max)
        return text;
    CLEANUP(buf_finish) struct buf cut;
    buf_init(&cut, max);
    text_add_clipped(&cut, text, max);
    return arena_copy(arena, buf_view(&cut));
}

/* A value may be any bytes, for code; an answer is text. */
static struct view as_text(struct arena *arena, struct view bytes)
{
    if (view_is_utf8(bytes))
        return bytes;
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, bytes.len * 3);
    text_add_clean(&text, bytes);
    return arena_copy(arena, buf_view(&text));
}

/* ------------------------------------------------------------ collecting */

/* An update by a later cell replaces what an earlier one displayed: in a copy
 * of its list, which the conversation has. */
static void apply_update(struct result_writer *writer, struct cell *cell,
                         const struct display *update)
{
    struct list *list = &cell->displays;
    const struct display *before = list->items;
    struct display *displays = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (!view_equal(before[i].id, update->id))
            continue;
        if (!displays) {
            displays =
                arena_alloc(&writer->arena, list->count * sizeof(*displays));
            memcpy(displays, before, list->count * sizeof(*displays));
            list->items = displays;
        }
        displays[i] = *update;
    }
}

static void apply_updates(struct result_writer *writer)
{
    struct cell *cells = writer->result.cells.items;
    for (size_t i = 0; i < writer->result.cells.count; i++) {
        const struct display *updates = cells[i].updates.items;
        for (size_t j = 0; j < cells[i].updates.count; j++)
            for (size_t k = 0; k < i; k++)
                apply_update(writer, &cells[k], &updates[j]);
        cells[i].updates.count = 0;
    }
}

/* The id of the display that has the image; empty: none. */
static struct view id_of_image(const struct list *list, struct view name)
{
    const struct display *displays = list->items;
    for (size_t i = 0; i < list->count; i++) {
        const struct display_part *first = displays[i].parts.items;
        if (displays[i].parts.count > 0 && view_equal(first->name, name))
            return displays[i].id;
    }
    return (struct view){ 0 };
}

static bool updates_id(const struct record *record, struct view id)
{
    const struct display *updates = record->cell.updates.items;
    for (size_t i = 0; i < record->cell.updates.count; i++)
        if (view_equal(updates[i].id, id))
            return true;
    return false;
}

/* at: the record that has it. A display that was updated has another one. */
static bool is_replaced(const struct conversation *conversation, size_t at,
                        struct view name)
{
    const struct cell *cell = &conversation->results[at].cell;
    struct view id = id_of_image(&cell->displays, name);
    if (id.len == 0)
        id = id_of_image(&cell->updates, name);
    for (size_t i = at + 1; i < conversation->result_count && id.len > 0; i++)
        if (updates_id(&conversation->results[i], id))
            return true;
    return false;
}

static void collect_cells(struct result_writer *writer)
{
    const struct conversation *conversation = writer->conversation;
    size_t count = conversation->result_count;
    struct cell *cells =
        arena_alloc(&writer->arena, (count + 1) * sizeof(*cells));
    writer->result.cells.items = cells;
    for (size_t i = 0; i < count; i++)
        if (conversation->results[i].cell.code.len > 0)
            cells[writer->result.cells.count++] = conversation->results[i].cell;
    apply_updates(writer);
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Room is made for as many as there may be: most jobs have no image and no
 * file, and clearing room for MAX_IMAGES would take time in every job. */
static void collect_images(struct result_writer *writer)
{
    size_t count = 0;
    const struct conversation *conversation = writer->conversation;
    struct list *list = &writer->result.images;
    for (size_t i = 0; i < conversation->result_count; i++)
        count += conversation->results[i].images.count;
    struct image_ref *images =
        arena_alloc(&writer->arena, least(count, MAX_IMAGES) * sizeof(*images));
    list->items = images;
    for (size_t i = 0; i < conversation->result_count; i++) {
        const struct list *some = &conversation->results[i].images;
        const struct image_ref *own = some->items;
        for (size_t j = 0; j < some->count && list->count < MAX_IMAGES; j++)
            if (!is_replaced(conversation, i, own[j].name))
                images[list->count++] = own[j];
    }
}

/* A file that was written several times is listed once, as it was last. */
static void add_file(struct list *list, const struct file_ref *file)
{
    struct file_ref *files = list->items;
    size_t at = 0;
    while (at < list->count && !view_equal(files[at].name, file->name))
        at++;
    if (at == MAX_FILES)
        return;
    files[at] = *file;
    if (at == list->count)
        list->count++;
}

static void collect_files(struct result_writer *writer)
{
    const struct conversation *conversation = writer->conversation;
    size_t count = 0;
    for (size_t i = 0; i < conversation->result_count; i++)
        count += conversation->results[i].files.count;
    writer->result.files.items = arena_alloc(
        &writer->arena, least(count, MAX_FILES) * sizeof(struct file_ref));
    for (size_t i = 0; i < conversation->result_count; i++) {
        const struct list *some = &conversation->results[i].files;
        for (size_t j = 0; j < some->count; j++)
            add_file(&writer->result.files,
                     &((const struct file_ref *)some->items)[j]);
    }
}

/* What the caller has to run before the conversation can go on. */
static void collect_calls(struct result_writer *writer)
{
    const struct conversation *conversation = writer->conversation;
    struct list *list = &writer->result.calls;
    if (!conversation_hands_over(conversation))
        return;
    struct result_call *calls =
        arena_alloc(&writer->arena, conversation->call_count * sizeof(*calls));
    list->items = calls;
    for (size_t i = 0; i < conversation->call_count; i++) {
        const struct call *call = &conversation->calls[i];
        if (call->is_callers)
            calls[list->count++] =
                (struct result_call){ view_of(call->call_id),
                                      view_of(call->tool), call->arguments };
    }
}

/* Of the cells of the result; 0: the call has run none. */
static uint64_t cell_of_call(const struct conversation *conversation,
                             struct view call)
{
    uint64_t number = 0;
    for (size_t i = 0; i < conversation->result_count; i++) {
        const struct record *record = &conversation->results[i];
        number += record->cell.code.len > 0;
        if (view_equal(record->call, call))
            return record->cell.code.len > 0 ? number : 0;
    }
    return 0;
}

static struct view query_of(struct arena *arena, struct view arguments)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, QUERY_BYTES);
    if (!arguments_text(arguments, "query", true, &text, NULL) ||
        !buf_ok(&text))
        return view_head(arguments, QUERY_BYTES);
    return arena_copy(arena, buf_view(&text));
}

static struct result_item result_item_of(struct result_writer *writer,
                                         const struct said_item *said)
{
    const struct conversation *conversation = writer->conversation;
    struct result_item item = { .number = said->number,
                                .kind = (int)said->kind,
                                .call = said->call };
    if (said->kind == ITEM_MESSAGE)
        item.text = reply_json_text(
            json_array_get(conversation->messages, said->place), "content");
    if (view_equal(item.text, writer->result.answer))
        item.text = (struct view){ 0 };
    if (said->kind == ITEM_SEARCH)
        item.text = query_of(&writer->arena, said->text);
    if (said->kind == ITEM_CODE)
        item.cell = cell_of_call(conversation, said->call);
    return item;
}

static void collect_items(struct result_writer *writer)
{
    const struct conversation *conversation = writer->conversation;
    struct list *list = &writer->result.items;
    size_t count = least(conversation->said_item_count, MAX_RESULT_ITEMS);
    struct result_item *items =
        arena_alloc(&writer->arena, (count + 1) * sizeof(*items));
    for (size_t i = 0; i < count; i++)
        items[i] = result_item_of(writer, &conversation->said_items[i]);
    *list = (struct list){ items, count };
}

static struct view answer_of(const struct conversation *conversation,
                             const struct job_outcome *ending)
{
    return ending->answer.len > 0 ? ending->answer
                                  : conversation_answer(conversation);
}

static void collect(struct result_writer *writer,
                    const struct job_outcome *ending)
{
    struct conversation *conversation = writer->conversation;
    struct result *result = &writer->result;
    const struct job *job = conversation->job;
    result->answer = as_text(&writer->arena, answer_of(conversation, ending));
    result->session = job->session;
    result->metadata = job->metadata;
    result->usage = spending_total(&conversation->spending);
    result->timings.model = conversation->model_ms;
    result->timings.tools = conversation->tools_ms;
    writer->messages = conversation->messages;
    if (conversation->output)
        json_to_value(conversation->output, &result->output, &writer->arena,
                      NULL);
    collect_calls(writer);
    collect_cells(writer);
    collect_images(writer);
    collect_files(writer);
    collect_items(writer);
    if (result->answer.len > MAX_ANSWER_BYTES) {
        result->answer = clip(&writer->arena, result->answer, MAX_ANSWER_BYTES);
        buf_printf(&writer->notes, "The answer was cut to %d bytes. ",
                   MAX_ANSWER_BYTES);
    }
}

/* -------------------------------------------------------------- cutting */

/* Keeps only displays with parts: these are names of blobs, and few. */
static void keep_parts(struct result_writer *writer, struct cell *cell)
{
    const struct display *all = cell->displays.items;
    struct display *some =
        arena_alloc(&writer->arena, (cell->displays.count + 1) * sizeof(*all));
    size_t count = 0;
    for (size_t i = 0; i < cell->displays.count; i++)
        if (all[i].parts.count > 0) {
            some[count] = all[i];
            some[count].text = clip(&writer->arena, all[i].text, LEAST_BYTES);
            count++;
        }
    cell->displays = (struct list){ some, count };
}

static void cut_cells(struct result_writer *writer)
{
    struct cell *cells = writer->result.cells.items;
    struct arena *arena = &writer->arena;
    for (size_t i = 0; i < writer->result.cells.count; i++) {
        struct cell *cell = &cells[i];
        cell->code = clip(arena, cell->code, (size_t)2 * SHORT_BYTES);
        cell->out = clip(arena, cell->out, SHORT_BYTES);
        cell->errout = clip(arena, cell->errout, SHORT_BYTES);
        cell->result = clip(arena, cell->result, SHORT_BYTES);
        cell->error.traceback = clip(arena, cell->error.traceback, SHORT_BYTES);
        cell->error.value = clip(arena, cell->error.value, SHORT_BYTES);
        keep_parts(writer, cell);
    }
}

static void cut_items(struct result_writer *writer)
{
    struct result_item *items = writer->result.items.items;
    for (size_t i = 0; i < writer->result.items.count; i++)
        items[i].text = clip(&writer->arena, items[i].text, SHORT_BYTES);
}

static void drop_items(struct result_writer *writer)
{
    writer->result.items.count = 0;
}

/* What is left of a cell: how it ended, and the blobs of its streams. */
static void shrink_cells(struct result_writer *writer)
{
    struct cell *cells = writer->result.cells.items;
    struct arena *arena = &writer->arena;
    for (size_t i = 0; i < writer->result.cells.count; i++) {
        struct cell *cell = &cells[i];
        struct view *texts[] = { &cell->code,           &cell->out,
                                 &cell->errout,         &cell->result,
                                 &cell->error.name,     &cell->error.value,
                                 &cell->notes,          &cell->reason,
                                 &cell->error.traceback };
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++)
            *texts[j] = clip(arena, *texts[j], LEAST_BYTES);
        cell->displays.count = cell->files.count = 0;
    }
}

static void cut_messages(struct result_writer *writer)
{
    json_t *all = json_array();
    size_t i;
    json_t *message;
    json_array_foreach(writer->messages, i, message) {
        const json_t *content = json_object_get(message, "content");
        struct view text = { json_string_value(content),
                             json_string_length(content) };
        json_t *copy = json_copy(message);
        if (text.len > SHORT_BYTES) {
            text = clip(&writer->arena, text, SHORT_BYTES);
            json_object_set_new(copy, "content",
                                json_stringn(text.data, text.len));
        }
        json_array_append_new(all, copy);
    }
    json_decref(writer->messages);
    writer->messages = all;
}

static void drop_messages(struct result_writer *writer)
{
    json_decref(writer->messages);
    writer->messages = NULL;
}

static void cut_answer(struct result_writer *writer)
{
    writer->result.answer =
        clip(&writer->arena, writer->result.answer, LEAST_ANSWER_BYTES);
    writer->result.output = NULL;
}

/* An object that is cut is none: the caller must see that. */
static void drop_arguments(struct result_writer *writer)
{
    struct result_call *calls = writer->result.calls.items;
    for (size_t i = 0; i < writer->result.calls.count; i++)
        if (calls[i].arguments.len > SHORT_BYTES)
            calls[i].arguments = (struct view){ 0 };
}

static void drop_metadata(struct result_writer *writer)
{
    writer->result.metadata.count = 0;
}

static const struct {
    void (*cut)(struct result_writer *writer);
    const char *note;
} cuts[] = {
    { cut_cells, "Long texts of cells were cut. " },
    { cut_messages, "Long messages were cut. " },
    { drop_messages, "The conversation was left out. " },
    { cut_items, "Long texts of items were cut. " },
    { shrink_cells, "Of cells, displays and files were left out. " },
    { drop_items, "Items were left out. " },
    { cut_answer, "The answer was cut, output left out. " },
    { drop_metadata, "Metadata were left out. " },
    { drop_arguments, "Long arguments of calls were left out. " },
};
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

/* -------------------------------------------------------------- writing */

static bool encode(struct result_writer *writer, struct buf *out,
                   struct err *err)
{
    struct result *result = &writer->result;
    result->messages = NULL;
    if (writer->messages)
        json_to_value(writer->messages, &result->messages, &writer->arena,
                      NULL);
    result->notes = view_head(buf_view(&writer->notes), 900);
    buf_init(out, MAX_RESULT_BYTES);
    return message_encode(&schema_result, result, out, err);
}

/* What is always possible, so that nobody waits for a result that never comes.
 */
static void write_bare(struct result_writer *writer, const struct err *why,
                       struct buf *out)
{
    struct result *whole = &writer->result;
    struct result bare = { .id = whole->id,
                           .status = whole->status,
                           .attempts = whole->attempts,
                           .timings = whole->timings,
                           .error = whole->error };
    struct err err;
    buf_clear(&writer->notes);
    buf_printf(&writer->notes, "The rest could not be written: %s.", why->text);
    bare.notes = view_head(buf_view(&writer->notes), 900);
    buf_init(out, MAX_RESULT_BYTES);
    message_encode(&schema_result, &bare, out, &err);
}

static void write_fitting(struct result_writer *writer, struct buf *out)
{
    struct err err = { 0 };
    for (size_t i = 0; !encode(writer, out, &err); i++) {
        buf_finish(out);
        if (i == CUTS) {
            log_line("result.refused", "{s:s}", "why", err.text);
            write_bare(writer, &err, out);
            return;
        }
        cuts[i].cut(writer);
        buf_add(&writer->notes, view_of(cuts[i].note));
    }
}

/* Readers of the answer must know what the model did not see. */
static void note_summaries(const struct summary *summary, struct buf *notes)
{
    if (summary->made > 0)
        buf_printf(notes,
                   "The model was shown a summary in the place of earlier "
                   "messages (summaries: %zu). ",
                   summary->made);
    if (summary->failed > 0)
        buf_printf(notes,
                   "Earlier messages were left out for the model, for no "
                   "summary came of its calls (%zu). ",
                   summary->failed);
}

/* Members of the job that nobody knows: a mistake in a name may be why the job
 * does not do what was meant. */
static void note_unknown(const struct conversation *conversation,
                         const struct job_outcome *ending, struct buf *notes)
{
    const struct unknown_members *unknown = ending->unknown;
    if (conversation && conversation->job)
        unknown = &conversation->job->unknown;
    if (!unknown || unknown->count == 0)
        return;
    unknown_describe(unknown, notes);
    buf_add(notes, VIEW(" "));
}

void result_write(struct buf *out, struct conversation *conversation,
                  const struct job_outcome *ending)
{
    struct result_writer writer = { .conversation = conversation };
    struct result *result = &writer.result;
    buf_init(&writer.notes, 4096);
    *result = (struct result){
        .id = ending->id,
        .status = ending->status,
        .attempts = ending->attempts,
        .timings = { .queued = ending->queued_ms, .total = ending->total_ms },
        .error = result_error_of(&ending->why),
        .model = ending->model,
        .isolation = ending->isolation,
        .listing = ending->listing,
        .record = ending->record,
        .metadata = ending->metadata,
        .conversation = ending->conversation,
    };
    note_unknown(conversation, ending, &writer.notes);
    if (ending->unsaved.len > 0)
        buf_printf(&writer.notes, "The session was not saved: %.*s. ",
                   VIEW_ARG(ending->unsaved));
    if (ending->unkept.len > 0)
        buf_printf(&writer.notes, "The conversation was not kept: %.*s. ",
                   VIEW_ARG(ending->unkept));
    if (conversation)
        note_summaries(&conversation->summary, &writer.notes);
    if (conversation && conversation->job)
        collect(&writer, ending);
    if (ending->files.count > 0)
        result->files = ending->files;
    json_incref(writer.messages);
    write_fitting(&writer, out);
    json_decref(writer.messages);
    buf_finish(&writer.notes);
    arena_finish(&writer.arena);
}

void result_event(struct buf *out, const struct conversation *conversation,
                  const struct job_outcome *ending)
{
    struct event_data data = { .ms = ending->total_ms,
                               .error = result_error_of(&ending->why) };
    if (conversation && conversation->job)
        data.answer = view_head(answer_of(conversation, ending), HEAD_BYTES);
    event_data_encode(&data, out);
}
