/* reloader.c - a reload, and what is logged of it. */
#include "schemas/service/reloader.h"

#include <stdlib.h>

#include "schemas/service/file_watch.h"
#include "schemas/service/log.h"
#include "schemas/settings/reload.h"

struct reloader {
    struct reloader_place place;
    struct file_watch *watch; /* NULL: files are not looked at */
};

static void watch_files(struct reloader *reloader)
{
    struct setting_files files;
    setting_files_find(reloader->place.table, reloader->place.argv, &files);
    for (size_t i = 0; i < files.count; i++)
        reloader_watch(reloader, files.paths[i]);
    setting_files_finish(&files);
}

void reloader_run(struct reloader *reloader)
{
    const struct reloader_place *place = &reloader->place;
    struct setting_changes changes;
    struct err err = { 0 };
    bool good = setting_reload(place->table, place->settings, place->argv,
                               &changes, &err);
    if (good)
        log_line("settings.reloaded", "{s:s%, s:s%}", "changed",
                 changes.applied.data ? changes.applied.data : "",
                 changes.applied.len, "restart",
                 changes.restart.data ? changes.restart.data : "",
                 changes.restart.len);
    else
        log_line("settings.refused", "{s:s}", "why", err.text);
    setting_changes_finish(&changes);
    watch_files(reloader);
    if (good)
        place->on_reloaded(place->owner);
}

static void on_changed(void *owner)
{
    reloader_run(owner);
}

struct reloader *reloader_new(const struct reloader_place *place)
{
    struct reloader *reloader = calloc(1, sizeof(*reloader));
    if (!reloader)
        abort();
    reloader->place = *place;
    if (place->every_ms > 0)
        reloader->watch =
            file_watch_new(place->loop, place->every_ms, on_changed, reloader);
    watch_files(reloader);
    return reloader;
}

void reloader_watch(struct reloader *reloader, const char *path)
{
    if (reloader->watch && path && *path != '\0')
        file_watch_add(reloader->watch, path);
}

void reloader_free(struct reloader *reloader)
{
    if (!reloader)
        return;
    file_watch_free(reloader->watch);
    free(reloader);
}
