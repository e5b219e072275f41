/* output_display.c - what a cell displays: its text, and richer forms (parts);
 * and what replaces them. */
#include <stdio.h>
#include <string.h>

#include "consumer/active.h"
#include "consumer/blob.h"
#include "consumer/output/output.h"
#include "schemas/message/limits.h"

enum { TEXT_BYTES = 4 << 10 }; /* a longer text is a part as well */

/* In the order in which the parts of a display are listed: images first, and
 * first of all the form that is shown most easily. */
static const struct kind {
    const char *mime, *ending;
    bool image;
} kinds[] = {
    { "image/png", "png", true },
    { "image/jpeg", "jpg", true },
    { "image/gif", "gif", true },
    { "image/webp", "webp", true },
    { "image/svg+xml", "svg", true },
    { "text/html", "html", false },
    { "text/markdown", "md", false },
    { "text/latex", "tex", false },
    { "text/csv", "csv", false },
    { "text/plain", "txt", false },
    { "application/json", "json", false },
    { "application/javascript", "js", false },
    { "application/pdf", "pdf", false },
    { "application/vnd.quern.chart+json", "chart.json", false },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct kind other = { NULL, "bin", false };

static const struct kind *display_kind_of(struct view mime)
{
    for (size_t i = 0; i < KINDS; i++)
        if (view_is(mime, kinds[i].mime))
            return &kinds[i];
    return &other;
}

/* The media type comes from a cell, so it may be anything. Clients put it into
 * HTTP headers. */
static bool mime_is_sound(struct view mime)
{
    if (mime.len == 0 || mime.len > MAX_NAME_BYTES)
        return false;
    for (size_t i = 0; i < mime.len; i++)
        if (mime.data[i] <= ' ' || mime.data[i] >= 0x7f)
            return false;
    return memchr(mime.data, '/', mime.len);
}

static bool is_in(const struct list *list, struct view name)
{
    const struct display *displays = list->items;
    for (size_t i = 0; i < list->count; i++) {
        const struct display_part *parts = displays[i].parts.items;
        for (size_t j = 0; j < displays[i].parts.count; j++)
            if (view_equal(parts[j].name, name))
                return true;
    }
    return false;
}

static bool is_taken(const struct output *output, struct view name)
{
    for (size_t i = 0; i < output->earlier.count; i++) {
        const struct cell *cell = &output->earlier.records[i].cell;
        if (is_in(&cell->displays, name) || is_in(&cell->updates, name))
            return true;
    }
    return is_in(&output->displays, name) || is_in(&output->updates, name);
}

/* A name that no part of the job has. update: the number of the part does not
 * tell then which names are free, because replaced parts have freed some. */
static struct view part_name(struct output *output, const struct kind *kind,
                             bool update)
{
    char name[64];
    size_t number = kind->image ? MAX_IMAGES - output->images_left
                                : MAX_PARTS - output->parts_left;
    if (update)
        number = 0;
    do
        snprintf(name, sizeof(name), "%s-%zu.%s",
                 kind->image ? "figure" : "display", ++number, kind->ending);
    while (is_taken(output, view_of(name)));
    return arena_copy(&output->arena, view_of(name));
}

static const char *why_not(const struct output *output, const struct kind *kind,
                           struct view bytes)
{
    if (bytes.len > MAX_FILE_BYTES)
        return "dropped, it is larger than " MAX_FILE_WORDS;
    if (kind->image && output->images_left == 0)
        return "dropped, a job may have 64 images";
    if (output->parts_left == 0)
        return "dropped, a job may display 256 things beside text";
    if (bytes.len > output->bytes_left)
        return "dropped, a job may display 256 MiB";
    return NULL;
}

static void part_add(struct output *output, struct display *display,
                     struct view mime, struct view bytes, bool update)
{
    const struct kind *kind = display_kind_of(mime);
    struct view name = part_name(output, kind, update);
    const char *why = mime_is_sound(mime)
                          ? why_not(output, kind, bytes)
                          : "dropped, its media type is not valid";
    if (why) {
        output_note(output, name, why);
        return;
    }
    struct display_part *parts = display->parts.items;
    struct display_part *part = &parts[display->parts.count++];
    *part = (struct display_part){
        .name = name,
        .mime = arena_copy(&output->arena, mime),
        .blob = output_blob(output, bytes),
        .bytes = bytes.len,
        .active = content_is_active(mime, bytes),
    };
    image_size(bytes, &part->width, &part->height);
    output->parts_left--;
    output->bytes_left -= bytes.len;
}

/* The first part of a display, if it is an image, is an image of the job. */
static void add_image(struct output *output, const struct display_part *part)
{
    struct image_ref *images = output->images.items;
    struct image_ref *image = &images[output->images.count++];
    *image = (struct image_ref){
        .name = part->name,
        .mime = part->mime,
        .blob = part->blob,
        .bytes = part->bytes,
        .width = part->width,
        .height = part->height,
        .from_cell = output->cell_at,
        .active = part->active,
    };
    output->images_left--;
}

/* Parts of known types in the order of kinds, then the others. */
static void add_parts(struct output *output, struct display *display,
                      const struct list *bundle, bool update)
{
    const struct pair *pairs = bundle->items;
    for (size_t kind = 0; kind <= KINDS; kind++)
        for (size_t i = 0; i < bundle->count; i++) {
            const struct kind *own = display_kind_of(pairs[i].key);
            bool now = kind < KINDS ? own == &kinds[kind] : own == &other;
            bool text = view_is(pairs[i].key, "text/plain");
            if (now && (!text || pairs[i].value.len > TEXT_BYTES))
                part_add(output, display, pairs[i].key, pairs[i].value, update);
        }
}

static struct view display_text(struct output *output,
                                const struct list *bundle)
{
    const struct pair *pairs = bundle->items;
    for (size_t i = 0; i < bundle->count; i++) {
        if (!view_is(pairs[i].key, "text/plain"))
            continue;
        CLEANUP(buf_finish) struct buf text;
        buf_init(&text, TEXT_BYTES);
        text_add_clipped(&text, pairs[i].value, TEXT_BYTES);
        return arena_copy(&output->arena, buf_view(&text));
    }
    return (struct view){ 0 };
}

static void add_bundle(struct output *output, struct display *display,
                       const struct list *bundle, bool update)
{
    display->text = display_text(output, bundle);
    display->parts.items = arena_alloc(
        &output->arena, (bundle->count + 1) * sizeof(struct display_part));
    add_parts(output, display, bundle, update);
    const struct display_part *first = display->parts.items;
    if (display->parts.count > 0 && display_kind_of(first->mime)->image)
        add_image(output, first);
}

bool output_is_new(struct output *output, uint64_t number)
{
    output->display_at = number > 0 ? number : output->display_at + 1;
    if (output->display_at <= output->displays_seen)
        return false;
    output->displays_seen = output->display_at;
    output->displays_came++;
    return true;
}

static void tell_image(struct output *output, struct view name)
{
    const struct image_ref *images = output->images.items;
    struct event_data data = { .call = output->call, .item = output->item };
    for (size_t i = 0; i < output->images.count; i++)
        if (view_equal(images[i].name, name)) {
            data.image = images[i];
            progress_event(output->setup.progress, "image", &data);
            return;
        }
}

void output_tell_display(struct output *output, const struct display *display)
{
    const struct display_part *first = display->parts.items;
    struct event_data data = { .call = output->call,
                               .item = output->item,
                               .display = *display };
    if (display->parts.count > 0)
        tell_image(output, first->name);
    output->clearing.fresh = false;
    progress_event(output->setup.progress, "display", &data);
}

static void show(struct output *output, const struct frame *frame)
{
    if (frame->clears < output->clearing.done)
        return; /* the guest held it back, and it was cleared meanwhile */
    output_more(output, frame->clears);
    if (output->displays.count == MAX_DISPLAYS)
        return; /* the executor sends no more either */
    struct display *displays = output->displays.items;
    struct display *display = &displays[output->displays.count];
    *display = (struct display){
        .id = arena_copy(&output->arena, frame->display_id),
    };
    output->displays.count++;
    add_bundle(output, display, &frame->bundle, false);
    if (!output_is_held(output, false))
        output_tell_display(output, display);
}

void output_display(struct output *output, const struct frame *frame)
{
    if (output_is_new(output, frame->number))
        show(output, frame);
}

/* -------------------------------------------------- updating and clearing */

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
static void display_release(struct output *output, struct display *display)
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
        display_release(output, &displays[i]);
        add_bundle(output, &displays[i], &frame->bundle, true);
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
    add_bundle(output, update, &frame->bundle, false);
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
        show(output, frame);
        return;
    }
    if (!earlier && output_is_held(output, false))
        return;
    struct event_data data = { .call = output->call,
                               .item = output->item,
                               .display = here ? *here : *earlier };
    progress_event(output->setup.progress, "display.updated", &data);
}

void output_clear_displays(struct output *output)
{
    struct display *displays = output->displays.items;
    for (size_t i = 0; i < output->displays.count; i++)
        display_release(output, &displays[i]);
    output->displays.count = 0;
}
