/* outcome.c - what became of a cell, told truly.
 *
 * What the guest claims (result, error, displays) is copied within limits. How
 * the cell ended, which files changed, time and memory are what the warden has
 * seen itself. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "executor/base/log.h"
#include "executor/box/walls.h"
#include "executor/warden/image.h"
#include "executor/warden/memory.h"
#include "executor/warden/numbers.h"
#include "executor/warden/session_steps.h"
#include "schemas/message/buf.h"
#include "schemas/message/limits.h"

enum {
    MAX_CELL_DISPLAY_BYTES = 64 << 20, /* of all displays of one cell */
    MAX_CELL_BUNDLES = 2000, /* with those that were replaced: our own guest
                                sends fewer in an hour */
};

static void clear_cell(struct running_cell *run)
{
    arena_finish(&run->arena);
    run->cell = (struct cell){ 0 };
    run->displays = run->clears = run->bundles = 0;
    run->display_bytes = run->shown = 0;
}

/* Cells that the consumer does not number are numbered as they come. */
static uint64_t outcome_cell_number(const struct session *session,
                                    const struct frame *frame)
{
    if (frame->number > 0)
        return frame->number;
    return session->cells.count;
}

void outcome_begin(struct session *session, struct session_call *call,
                   const struct frame *frame, uint64_t limit_ms)
{
    int task = frame->task;
    struct running_cell *run = &session->run;
    arena_finish(&run->arena);
    arena_finish(&run->asked_arena);
    session->cells.count++;
    *run = (struct running_cell){
        .call = call,
        .asked.task = task,
        .number = outcome_cell_number(session, frame),
        .limit_ms = limit_ms,
        .started_ms = clock_ms(),
    };
    if (task == TASK_CODE) {
        session->cells.before = session->cells.last;
        session->cells.last = run->number;
    }
    clear_cell(run);
    if (session->loss.text[0] == '\0')
        return;
    outcome_set(session, CELL_OK, session->loss.state, "%s",
                session->loss.text);
    session->loss.text[0] = '\0';
}

void outcome_restart(struct session *session)
{
    struct running_cell *run = &session->run;
    int state = run->cell.state;
    clear_cell(run);
    run->cell.state = state;
    run->cell.reason = view_of(run->reason);
}

static void add_reason(struct running_cell *run, const char *format,
                       va_list arguments) __attribute__((format(printf, 2, 0)));
static void add_reason(struct running_cell *run, const char *format,
                       va_list arguments)
{
    size_t len = strlen(run->reason);
    if (len > 0 && len + 3 < sizeof(run->reason))
        len += (size_t)sprintf(run->reason + len, "; ");
    vsnprintf(run->reason + len, sizeof(run->reason) - len, format, arguments);
    run->cell.reason = view_of(run->reason);
}

void outcome_set(struct session *session, enum cell_status status,
                 enum cell_state state, const char *format, ...)
{
    struct running_cell *run = &session->run;
    va_list arguments;
    va_start(arguments, format);
    add_reason(run, format, arguments);
    va_end(arguments);
    run->cell.status = (int)status;
    if (run->cell.state < (int)state)
        run->cell.state = (int)state; /* of several, the worst holds */
}

void outcome_note(struct session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_reason(&session->run, format, arguments);
    va_end(arguments);
}

/* The text/plain of a bundle, added if there is none: there is room for one
 * more. */
static struct pair *outcome_text_part(struct list *bundle)
{
    struct pair *pairs = bundle->items;
    for (size_t i = 0; i < bundle->count; i++)
        if (view_is(pairs[i].key, "text/plain"))
            return &pairs[i];
    pairs[bundle->count] = (struct pair){ .key = VIEW("text/plain") };
    return &pairs[bundle->count++];
}

/* Writes into the text, which the model reads, what was dropped. dropped: media
 * types, and why. */
static void tell_dropped(struct list *bundle, const struct list *dropped,
                         struct arena *arena)
{
    CLEANUP(buf_finish) struct buf text;
    const struct pair *pairs = dropped->items;
    struct pair *plain = outcome_text_part(bundle);
    buf_init(&text, plain->value.len + dropped->count * 256);
    buf_add(&text, plain->value);
    for (size_t i = 0; i < dropped->count; i++)
        buf_printf(&text, "%s[%.*s dropped: %.*s]", text.len > 0 ? "\n" : "",
                   VIEW_ARG(view_head(pairs[i].key, 100)),
                   VIEW_ARG(pairs[i].value));
    plain->value = arena_copy(arena, buf_view(&text));
}

/* Why a part is dropped; NULL: it is passed on. bytes: of the parts that are
 * passed on so far, with which it has to fit a frame. */
static const char *why_not(struct running_cell *run, const struct pair *part,
                           size_t bytes)
{
    struct image_size size;
    run->display_bytes += part->value.len;
    if (bytes + part->value.len > MAX_DISPLAY_BYTES)
        return "a display has 16 MiB at most";
    if (run->display_bytes > MAX_CELL_DISPLAY_BYTES)
        return "a cell displays 64 MiB at most";
    if (wall_wanted("images") && !image_is_sound(part->key, part->value, &size))
        return "it is not what it says, or has too many pixels";
    return NULL;
}

/* The parts that may be passed on. An image that is none, or too large to
 * unpack, could hurt whoever looks at it: its place takes a note. */
static struct list sound_parts(struct session *session,
                               const struct list *bundle, struct arena *arena)
{
    const struct pair *pairs = bundle->items;
    size_t room = (bundle->count + 1) * sizeof(*pairs);
    struct list sound = { .items = arena_alloc(arena, room) };
    struct list dropped = { .items = arena_alloc(arena, room) };
    struct pair *in = sound.items, *out = dropped.items;
    size_t bytes = 0;
    for (size_t i = 0; i < bundle->count; i++) {
        const char *why = why_not(&session->run, &pairs[i], bytes);
        if (!why) {
            in[sound.count++] = pairs[i];
            bytes += pairs[i].value.len;
        } else {
            out[dropped.count++] = (struct pair){ pairs[i].key, view_of(why) };
        }
    }
    if (dropped.count > 0)
        tell_dropped(&sound, &dropped, arena);
    return sound;
}

/* Beyond its limits a display goes nowhere: our own guest has said so by then.
 * An update takes no new place, so it does not count among the displays. */
void outcome_display(struct session *session, const struct guest_frame *told)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct running_cell *run = &session->run;
    bool update = told->type == GUEST_UPDATE;
    bool full = run->bundles >= MAX_CELL_BUNDLES ||
                (run->displays >= MAX_DISPLAYS && !update);
    if ((full && wall_wanted("bounds")) || told->bundle.count == 0 ||
        !run->call)
        return;
    run->bundles++;
    run->displays += !update;
    struct frame frame = { .type = update ? FRAME_UPDATE : FRAME_DISPLAY,
                           .number = ++run->shown,
                           .display_id = told->display_id,
                           .clears = told->clears,
                           .bundle =
                               sound_parts(session, &told->bundle, &arena) };
    call_say(run->call, &frame);
}

/* Output comes by pipes, frames by the channel. The guest waits for this answer
 * before it writes on: so what it wrote before the clear has been read by now
 * (interpreter.c drains the pipes first), and what it writes later comes after
 * it. */
static void answer_clear(struct session *session, uint64_t number)
{
    struct err err;
    struct guest_frame answer = { .type = GUEST_ANSWER, .number = number };
    if (!interpreter_send(session->interpreter, &answer, &err))
        session->flags.deaf = true;
}

void outcome_clear(struct session *session, const struct guest_frame *told)
{
    struct running_cell *run = &session->run;
    answer_clear(session, told->number);
    if (!run->call)
        return; /* LEAVING: nobody listens */
    if (run->clears >= MAX_CLEARS && wall_wanted("bounds"))
        return; /* the guest has said so */
    run->clears++;
    run->displays = 0;
    struct frame frame = { .type = FRAME_CLEAR,
                           .number = ++run->shown,
                           .wait = told->wait };
    call_say(run->call, &frame);
}

/* The interpreter may claim these four statuses only. That it was killed, or
 * took too long, is for the warden to say. */
void outcome_done(struct session *session, const struct guest_frame *done)
{
    struct cell *cell = &session->run.cell;
    struct arena *arena = &session->run.arena;
    tool_end(session);
    cell->status = done->status == CELL_OK || done->status == CELL_EXIT ||
                           done->status == CELL_INTERRUPTED
                       ? done->status
                       : CELL_ERROR;
    session->run.picture = arena_copy(arena, done->picture);
    cell->result = arena_copy(arena, done->result);
    cell->error.name = arena_copy(arena, done->error.name);
    cell->error.value = arena_copy(arena, done->error.value);
    cell->error.traceback = arena_copy(arena, done->error.traceback);
    installing_missed(session, done->missing);
}

/* After the frame was sent: nobody has to wait for the log. */
static void log_outcome(const struct session *session)
{
    const struct running_cell *run = &session->run;
    log_line("cell.done", session->name, "cell %llu: %s, %s%s%s",
             (unsigned long long)run->number,
             cell_status_names[run->cell.status],
             cell_state_names[run->cell.state], run->reason[0] ? ": " : "",
             run->reason);
}

/* Saves and restores are no cells. */
static void count_outcome(const struct running_cell *run)
{
    if (run->asked.task != TASK_CODE)
        return;
    metric_add(NUMBER_CELLS, 1,
               LABELS(view_of(cell_status_names[run->cell.status])));
    metric_observe(NUMBER_CELL_TIME, (double)run->cell.ms / 1000, NO_LABELS);
}

/* Everything in the box stands still or has ended, so the listing is what the
 * cell left. From the frame on no call is open. */
void outcome_say(struct session *session, bool emptied)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct running_cell *run = &session->run;
    struct cell *cell = &run->cell;
    struct file_listing after = { 0 };
    struct list files = { 0 };
    bool cut = false;
    cell->ms = clock_ms() - run->started_ms;
    if (cell->peak_bytes == 0)
        cell->peak_bytes =
            memory_peak_bytes(interpreter_box(session->interpreter));
    cell->out_bytes = interpreter_written(session->interpreter, VIEW("stdout"));
    cell->errout_bytes =
        interpreter_written(session->interpreter, VIEW("stderr"));
    if (!emptied) {
        session_list(session, &after);
        files = listing_changes(&session->files.seen, &after, &arena, &cut);
    }
    if (cut)
        outcome_note(session,
                     "not every change of the workspace is told: of at most %d "
                     "files and folders, %d deep, with %d KiB of names",
                     LISTING_ENTRIES, LISTING_DEPTH, LISTING_NAME_BYTES >> 10);
    struct frame frame = {
        .type = FRAME_DONE,
        .cell = *cell,
        .picture = run->picture,
        .number = run->shown,
        .emptied = emptied || session->loss.emptied,
        .files = files,
    };
    call_say(run->call, &frame);
    log_outcome(session);
    count_outcome(run);
    session->loss.emptied = false;
    run->call = NULL;
    tool_end(session);
    arena_finish(&run->arena);
    arena_finish(&run->asked_arena);
    run->cell = (struct cell){ 0 };
    run->picture = (struct view){ 0 };
    listing_finish(&session->files.seen);
    session->files.seen = after;
    session->files.stale = false;
}
