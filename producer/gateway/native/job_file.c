/* job_file.c - see job_file.h. */
#include "producer/gateway/native/job_file.h"

#include "producer/client/fleet.h"
#include "schemas/message/event.h"
#include "schemas/message/result.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/transition.h"

enum {
    EVENTS_AT_ONCE = 100,
    MOST_PAGES = 101, /* a job keeps 10,000 events */
};

/* ----------------------------------------------------- of one that has ended
 */

static bool result_file(const struct result *result, struct view name,
                        struct answered_file *found)
{
    const struct file_ref *files = result->files.items;

    for (size_t i = 0; i < result->files.count; i++)
        if (view_equal(files[i].name, name)) {
            *found = (struct answered_file){ .blob = files[i].blob,
                                             .mime = files[i].mime,
                                             .bytes = files[i].bytes };
            return found->blob.len > 0;
        }
    return false;
}

static bool display_find_part(const struct display *display, struct view name,
                              struct answered_file *found)
{
    const struct display_part *parts = display->parts.items;

    for (size_t i = 0; i < display->parts.count; i++)
        if (view_equal(parts[i].name, name)) {
            *found = (struct answered_file){ .blob = parts[i].blob,
                                             .mime = parts[i].mime,
                                             .bytes = parts[i].bytes,
                                             .active = parts[i].active };
            return found->blob.len > 0;
        }
    return false;
}

static bool result_image(const struct result *result, struct view name,
                         struct answered_file *found)
{
    const struct image_ref *images = result->images.items;
    const struct cell *cells = result->cells.items;

    for (size_t i = 0; i < result->images.count; i++)
        if (view_equal(images[i].name, name)) {
            *found = (struct answered_file){ .blob = images[i].blob,
                                             .mime = images[i].mime,
                                             .bytes = images[i].bytes,
                                             .active = images[i].active };
            return found->blob.len > 0;
        }
    for (size_t i = 0; i < result->cells.count; i++) {
        const struct display *displays = cells[i].displays.items;

        for (size_t j = 0; j < cells[i].displays.count; j++)
            if (display_find_part(&displays[j], name, found))
                return true;
    }
    return false;
}

static void on_result(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct job_file *file = request->state;
    struct answered_file found = { 0 };
    struct view name = view_of(file->target.name);
    struct result result;

    if (reply->type == REDIS_REPLY_STRING &&
        message_decode(&schema_result, reply_view(reply), &result, &arena,
                       NULL) &&
        (file->target.kind == LINK_IMAGE ? result_image(&result, name, &found)
                                         : result_file(&result, name, &found)))
        file->answer(request, &found);
    else
        file->refuse(request);
}

static void ask_result(struct api_request *request)
{
    const struct job_file *file = request->state;
    struct key key =
        names_result(&request->gateway->names, view_of(file->target.job));
    struct command command;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, file->partition, &command, on_result);
    command_finish(&command);
}

/* ------------------------------------------------------- of a job that runs */

static bool event_image(const struct event *event, struct view name,
                        struct answered_file *found)
{
    const struct image_ref *image = &event->data.image;

    if (view_is(event->type, "image") && view_equal(image->name, name))
        *found = (struct answered_file){ .blob = image->blob,
                                         .mime = image->mime,
                                         .bytes = image->bytes,
                                         .active = image->active };
    else if (view_is(event->type, "display") ||
             view_is(event->type, "display.updated"))
        display_find_part(&event->data.display, name, found);
    return found->blob.len > 0;
}

static bool event_file(const struct event *event, struct view name,
                       struct answered_file *found)
{
    const struct file_ref *file = &event->data.file;

    if (view_is(event->type, "file") && view_equal(file->name, name))
        *found = (struct answered_file){ .blob = file->blob,
                                         .mime = file->mime,
                                         .bytes = file->bytes };
    return found->blob.len > 0;
}

static bool event_has(const struct event *event, const struct file_link *target,
                      struct answered_file *found)
{
    struct view name = view_of(target->name);

    return target->kind == LINK_IMAGE ? event_image(event, name, found)
                                      : event_file(event, name, found);
}

static void ask_events(struct api_request *request, uint64_t before);

static void on_events(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct job_file *file = request->state;
    struct answered_file found = { 0 };
    struct event event = { 0 };
    struct view bytes;

    for (size_t i = 0; (bytes = transition_latest_event(reply, i)).len > 0; i++)
        if (event_decode(&event, bytes, &arena, NULL) &&
            event_has(&event, &file->target, &found)) {
            file->answer(request, &found);
            return;
        }
    if (event.seq > 1 && ++file->pages < MOST_PAGES)
        ask_events(request, event.seq);
    else
        file->refuse(request);
}

/* The latest events before one of that number; 0: of all. */
static void ask_events(struct api_request *request, uint64_t before)
{
    const struct job_file *file = request->state;
    struct command command;

    transition_latest(&command, &request->gateway->names,
                      view_of(file->target.job), before, EVENTS_AT_ONCE);
    api_request_call(request, file->partition, &command, on_events);
    command_finish(&command);
}

void job_file_find(struct api_request *request, bool has_ended)
{
    if (has_ended)
        ask_result(request);
    else
        ask_events(request, 0);
}
