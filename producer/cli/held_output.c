/* held_output.c - output of a running cell that the cell may still take back.
 */
#include "producer/cli/held_output.h"

enum { MOST_BYTES = 512 << 10 }; /* events never have so much of a stream */

void held_output_init(struct held_output *held)
{
    *held = (struct held_output){ 0 };
    for (size_t i = 0; i < 2; i++)
        buf_init(&held->streams[i], MOST_BYTES);
}

static void held_output_drop(struct held_output *held)
{
    for (size_t i = 0; i < 2; i++)
        buf_clear(&held->streams[i]);
    for (size_t i = 0; i < held->count; i++) {
        buf_finish(&held->displays[i].id);
        buf_finish(&held->displays[i].text);
    }
    held->count = 0;
}

void held_output_finish(struct held_output *held)
{
    held_output_drop(held);
    for (size_t i = 0; i < 2; i++)
        buf_finish(&held->streams[i]);
}

void held_output_reset(struct held_output *held)
{
    held_output_drop(held);
    held->cleared = false;
}

void held_output_clear(struct held_output *held)
{
    held_output_drop(held);
    held->cleared = true;
}

bool held_output_text(struct held_output *held, bool errors, struct view text)
{
    if (held->cleared)
        buf_add(&held->streams[errors], text);
    return held->cleared;
}

/* Of an image the text ("<Figure ...>") is not shown: it is saved, and its path
 * is printed. */
static struct view held_output_text_of(const struct display *display)
{
    const struct display_part *parts = display->parts.items;

    if (display->parts.count > 0 && view_starts(parts->mime, "image/"))
        return (struct view){ 0 };
    return display->text;
}

static void set(struct held_display *place, const struct display *display)
{
    buf_clear(&place->text);
    buf_add(&place->text, held_output_text_of(display));
}

bool held_output_display(struct held_output *held,
                         const struct display *display)
{
    struct held_display *place = &held->displays[held->count];

    if ((!held->cleared && display->id.len == 0) || held->count == MAX_DISPLAYS)
        return held->cleared;
    buf_init(&place->id, MAX_NAME_BYTES);
    buf_init(&place->text, MAX_STREAM_BYTES);
    buf_add(&place->id, display->id);
    set(place, display);
    held->count++;
    return true;
}

bool held_output_update(struct held_output *held, const struct display *display)
{
    bool found = false;

    for (size_t i = 0; i < held->count; i++)
        if (view_equal(buf_view(&held->displays[i].id), display->id)) {
            set(&held->displays[i], display);
            found = true;
        }
    return found;
}
