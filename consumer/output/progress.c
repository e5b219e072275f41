/* progress.c - writes the events of an attempt, with pieces of text gathered.
 */
#include "consumer/output/progress.h"

#include <string.h>

#include "schemas/message/limits.h"
#include "schemas/message/text.h"
#include "schemas/service/log.h"

enum {
    ENOUGH_BYTES = 1 << 10, /* are written at once */
    MOST_BYTES = 32 << 10,  /* half an event: encoding and clean-up fit too */
};

void event_data_encode(const struct event_data *data, struct buf *out)
{
    struct err err;
    buf_init(out, MAX_EVENT_BYTES);
    if (message_encode(&schema_event_data, data, out, &err))
        return;
    log_line("event.refused", "{s:s}", "why", err.text);
    buf_clear(out);
    out->overflow = false;
}

static void send_event(struct progress *progress, const char *type,
                       const struct event_data *data)
{
    CLEANUP(buf_finish) struct buf bytes;
    event_data_encode(data, &bytes);
    struct event_text event = { type, buf_view(&bytes) };
    struct command command;
    transition_event(&command, progress->setup.names, progress->setup.lease,
                     ++progress->writes, &event, 1);
    store_send(progress->setup.store, &command, progress->setup.done,
               progress->setup.owner);
    command_finish(&command);
}

/* Writes what waits but for its last stay bytes, which may be the start of a
 * character whose rest still comes. */
static void send_text(struct progress *progress, size_t stay)
{
    struct view raw = buf_view(&progress->text);
    raw.len -= stay;
    CLEANUP(buf_finish) struct buf clean;
    buf_init(&clean, (size_t)MOST_BYTES * 3);
    text_add_clean(&clean, raw);
    progress->about.text = buf_view(&clean);
    if (raw.len > 0)
        send_event(progress, progress->type, &progress->about);
    buf_drop(&progress->text, raw.len);
    alarm_stop(progress->alarm);
    progress->sent_ms = uv_now(progress->loop);
}

void progress_flush(struct progress *progress)
{
    if (progress->text.len > 0)
        send_text(progress, 0);
}

void progress_drop(struct progress *progress, const char *type)
{
    if (progress->text.len == 0 || strcmp(progress->type, type) != 0)
        return;
    buf_clear(&progress->text);
    alarm_stop(progress->alarm);
}

static void on_alarm(void *owner)
{
    struct progress *progress = owner;
    /* An event that would wait in the store can as well gather more text. */
    if (!store_is_empty(progress->setup.store)) {
        alarm_set(progress->alarm, progress->setup.delta_ms + 1);
        return;
    }
    send_text(progress, text_unfinished(buf_view(&progress->text)));
}

void progress_init(struct progress *progress, uv_loop_t *loop,
                   const struct progress_setup *setup)
{
    *progress = (struct progress){ .setup = *setup, .loop = loop };
    progress->alarm = alarm_new(loop, on_alarm, progress);
    buf_init(&progress->text, MOST_BYTES);
}

void progress_finish(struct progress *progress)
{
    if (!progress)
        return;
    alarm_free(progress->alarm);
    buf_finish(&progress->text);
    *progress = (struct progress){ 0 };
}

/* Text that comes after a pause is written in the next iteration of the loop,
 * with what else comes in this one. */
static uint64_t wait_ms(const struct progress *progress)
{
    uint64_t due_ms = progress->sent_ms + progress->setup.delta_ms;
    uint64_t now_ms = uv_now(progress->loop);
    return due_ms > now_ms ? due_ms - now_ms : 0;
}

static bool progress_is_same(const struct progress *progress, const char *type,
                             const struct event_data *about)
{
    return progress->text.len > 0 && progress->type == type &&
           progress->about.turn == about->turn &&
           progress->about.item == about->item &&
           view_equal(progress->about.call, about->call) &&
           view_equal(progress->about.stream, about->stream);
}

void progress_text(struct progress *progress, const char *type,
                   const struct event_data *about, struct view piece)
{
    if (!progress_is_same(progress, type, about)) {
        progress_flush(progress);
        progress->type = type;
        progress->about = *about;
    }
    while (piece.len > 0) {
        size_t room = progress->text.max - progress->text.len;
        size_t len = piece.len < room ? piece.len : room;
        buf_append(&progress->text, piece.data, len);
        piece.data += len;
        piece.len -= len;
        if (progress->text.len == progress->text.max)
            send_text(progress, text_unfinished(buf_view(&progress->text)));
    }
    if (progress->text.len >= ENOUGH_BYTES &&
        store_is_empty(progress->setup.store))
        send_text(progress, text_unfinished(buf_view(&progress->text)));
    else if (progress->text.len > 0 && !alarm_is_set(progress->alarm))
        alarm_set(progress->alarm, wait_ms(progress));
}

void progress_event(struct progress *progress, const char *type,
                    const struct event_data *data)
{
    progress_flush(progress);
    send_event(progress, type, data);
}
