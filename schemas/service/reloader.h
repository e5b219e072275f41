/* reloader.h - settings that change while a program runs: upon HUP, and when
 * one of its files has changed. */
#ifndef SCHEMAS_SERVICE_RELOADER_H
#define SCHEMAS_SERVICE_RELOADER_H

#include <uv.h>

#include "schemas/settings/setting.h"

/* The row of a program's table. `at` is the offset of the member, ms. */
#define RELOAD_ROW(at)                                                         \
    {                                                                          \
        .name = "reload-time", .type = SETTING_TIME, .offset = (at),           \
        .max = UINT64_C(3600) * 1000, .normal = "10s",                         \
        .about = "How often files of settings, secrets and models are looked " \
                 "at for changes; 0: they are read anew upon HUP only."        \
    }

struct reloader;

struct reloader_place {
    uv_loop_t *loop;
    const struct setting_table *table;
    void *settings;    /* what setting_load() has filled */
    char *const *argv; /* main()'s */
    uint64_t every_ms; /* 0: files are not looked at */
    /* The settings were read anew: what follows from them, and from further
     * files, is to be made anew. Not called when they were wrong. */
    void (*on_reloaded)(void *owner);
    void *owner;
};

/* Copies the place. Watches the files of the settings. */
struct reloader *reloader_new(const struct reloader_place *place);
/* Watches one more file: of models, or a certificate. NULL, "": none. */
void reloader_watch(struct reloader *reloader, const char *path);
/* Reads the settings anew now: HUP. Logs what has changed, or why not. */
void reloader_run(struct reloader *reloader);
void reloader_free(struct reloader *reloader); /* accepts NULL */

#endif
