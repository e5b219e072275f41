/* file_watch.c - libuv's poll of each file, and a pause behind a change. */
#include "schemas/service/file_watch.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/message/view.h"
#include "schemas/service/alarm.h"

enum { WATCH_MOST_FILES = 64 };

struct watched_file {
    uv_fs_poll_t poll;
    char *path;
};

struct file_watch {
    uv_loop_t *loop;
    unsigned int every_ms;
    file_watch_changed *changed;
    void *owner;
    struct alarm *pause;
    struct watched_file *files[WATCH_MOST_FILES];
    size_t count;
};

static void on_quiet(void *owner)
{
    const struct file_watch *watch = owner;
    watch->changed(watch->owner);
}

static void on_change(uv_fs_poll_t *poll, int status, const uv_stat_t *before,
                      const uv_stat_t *now)
{
    const struct file_watch *watch = poll->data;
    (void)before, (void)now;
    if (status == 0) /* else it has gone, which changes nothing yet */
        alarm_set(watch->pause, watch->every_ms);
}

struct file_watch *file_watch_new(uv_loop_t *loop, uint64_t every_ms,
                                  file_watch_changed *changed, void *owner)
{
    struct file_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        abort();
    watch->loop = loop;
    watch->every_ms = (unsigned int)every_ms;
    watch->changed = changed;
    watch->owner = owner;
    watch->pause = alarm_new(loop, on_quiet, watch);
    return watch;
}

void file_watch_add(struct file_watch *watch, const char *path)
{
    for (size_t i = 0; i < watch->count; i++)
        if (strcmp(watch->files[i]->path, path) == 0)
            return;
    if (watch->count == WATCH_MOST_FILES)
        return;
    struct watched_file *file = calloc(1, sizeof(*file));
    if (!file)
        abort();
    file->path = view_dup(view_of(path));
    file->poll.data = watch;
    uv_fs_poll_init(watch->loop, &file->poll);
    uv_fs_poll_start(&file->poll, on_change, path, watch->every_ms);
    uv_unref((uv_handle_t *)&file->poll);
    watch->files[watch->count++] = file;
}

static void on_closed(uv_handle_t *handle)
{
    struct watched_file *file =
        (struct watched_file *)((char *)handle -
                                offsetof(struct watched_file, poll));
    free(file->path);
    free(file);
}

void file_watch_free(struct file_watch *watch)
{
    if (!watch)
        return;
    for (size_t i = 0; i < watch->count; i++)
        uv_close((uv_handle_t *)&watch->files[i]->poll, on_closed);
    alarm_free(watch->pause);
    free(watch);
}
