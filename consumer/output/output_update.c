/* output_update.c - replaces and clears what a cell has displayed. */
#include <string.h>

#include "consumer/output/output.h"
#include "schemas/message/limits.h"

enum {
    FREE_CLEARS = 32, /* followers are told of the first so many at once */
    LEAST_MS = 100,   /* then of one each 100 ms at most, */
    SHARE = 100, /* ... or each 1/100 of the cell's time, if that is longer */
};

/* ------------------------------------------------------------- updating */

static void drop_image(struct output *output, struct view name)
{
    struct image_ref *images = output->images.items;
    for (size_t i = 0; i < output->images.count; i++)
        if (view_equal(images[i].name, name)) {
            output->images.count--;
            output->images_left++;
            memmove(&images[i], &images[i + 1],
                    (output->images.count - i) * sizeof(*images));
            return;
        }
}

/* Gives back the display's shares of the job, but not the bytes: these are
 * stored. */
static void release(struct output *output, struct display *display)
{
    const struct display_part *parts = display->parts.items;
    for (size_t i = 0; i < display->parts.count; i++) {
        drop_image(output, parts[i].name);
        *output->setup.void_bytes += parts[i].bytes;
    }
    output->parts_left += display->parts.count;
    display->parts.count = 0;
}

static const struct display *replace(struct output *output, struct list *list,
                                     const struct frame *frame)
{
    struct display *displays = list->items;
    const struct display *first = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (!view_equal(displays[i].id, frame->display_id))
            continue;
        release(output, &displays[i]);
        output_add_bundle(output, &displays[i], &frame->bundle, true);
        if (!first)
            first = &displays[i];
    }
    return first;
}

static bool is_of_earlier_cell(const struct output *output, struct view id)
{
    for (size_t i = 0; i < output->earlier.count; i++) {
        const struct list *list = &output->earlier.records[i].cell.displays;
        const struct display *displays = list->items;
        for (size_t j = 0; j < list->count; j++)
            if (view_equal(displays[j].id, id))
                return true;
    }
    return false;
}

/* Of several updates of an earlier cell's display the last one counts. */
static const struct display *update_earlier(struct output *output,
                                            const struct frame *frame)
{
    if (!is_of_earlier_cell(output, frame->display_id))
        return NULL;
    const struct display *there = replace(output, &output->updates, frame);
    if (there || output->updates.count == MAX_DISPLAYS)
        return there;
    struct display *updates = output->updates.items;
    struct display *update = &updates[output->updates.count++];
    *update = (struct display){
        .id = arena_copy(&output->arena, frame->display_id),
    };
    output_add_bundle(output, update, &frame->bundle, false);
    return update;
}

void output_update(struct output *output, const struct frame *frame)
{
    if (!output_is_new(output, frame->number))
        return;
    const struct display *earlier = update_earlier(output, frame);
    const struct display *here = replace(output, &output->displays, frame);
    if (!earlier && !here) {
        if (output->clearing.done > 0)
            return; /* its display was cleared */
        output_show(output, frame);
        return;
    }
    if (!earlier && output_is_held(output, false))
        return;
    struct event_data data = { .call = output->call,
                               .display = here ? *here : *earlier };
    progress_event(output->setup.progress, "display.updated", &data);
}

/* ------------------------------------------------------------- clearing */

static bool is_due(const struct output *output)
{
    const struct clear_state *clearing = &output->clearing;
    uint64_t now_ms = uv_now(output->setup.progress->loop);
    uint64_t share_ms = (now_ms - clearing->started_ms) / SHARE;
    return clearing->told < FREE_CLEARS ||
           now_ms - clearing->told_ms >=
               (share_ms > LEAST_MS ? share_ms : LEAST_MS);
}

static void tell_clear(struct output *output)
{
    struct clear_state *clearing = &output->clearing;
    struct event_data data = { .call = output->call };
    clearing->held = false;
    if (clearing->fresh)
        return;
    clearing->fresh = true;
    clearing->told++;
    clearing->told_ms = uv_now(output->setup.progress->loop);
    progress_event(output->setup.progress, "tool.cleared", &data);
}

/* Tells followers of the clear, and of what stands since then. */
static void catch_up(struct output *output)
{
    tell_clear(output);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        const struct output_stream *stream = &output->streams[i];
        output_tell_stream(output, i, buf_view(&stream->whole));
    }
    const struct display *displays = output->displays.items;
    for (size_t i = 0; i < output->displays.count; i++)
        output_tell_display(output, &displays[i]);
}

bool output_is_held(struct output *output, bool last)
{
    if (!output->clearing.held)
        return false;
    if (last || is_due(output))
        catch_up(output);
    return true;
}

static void clear_now(struct output *output)
{
    struct clear_state *clearing = &output->clearing;
    struct display *displays = output->displays.items;
    for (size_t i = 0; i < output->displays.count; i++)
        release(output, &displays[i]);
    output->displays.count = 0;
    output_clear_streams(output);
    clearing->done = clearing->asked;
    clearing->waits = false;
    progress_drop(output->setup.progress, "tool.output");
    if (is_due(output))
        tell_clear(output);
    else
        clearing->held = true;
}

void output_more(struct output *output, uint64_t clears)
{
    struct clear_state *clearing = &output->clearing;
    if (!clearing->waits || clears < clearing->first)
        return;
    clear_now(output);
    if (clears >= clearing->asked)
        return;
    clearing->done = clears; /* those after it still wait */
    clearing->first = clears + 1;
    clearing->waits = true;
}

void output_clear(struct output *output, const struct frame *frame)
{
    if (!output_is_new(output, frame->number))
        return;
    struct clear_state *clearing = &output->clearing;
    clearing->asked++;
    if (!frame->wait)
        clear_now(output);
    else if (!clearing->waits)
        clearing->first = clearing->asked;
    clearing->waits = frame->wait;
}
