/* packages.h - packages on demand: wheels, into the box of one session.
 *
 *   STORE/wheels/       unpacked, shared; executor/packages looks after it
 *   STORE/run-XXXXXX/   this warden's, locked while it lives
 *     box-N/              a box has it read-only as /packages
 *     work-N/             what one installation needs while it goes on
 *
 * A program outside every box does it (executor/packages), one process for each
 * request: the warden itself opens no connection and looks into no wheel. What
 * that program prints is read as bounded lines, and only quoted. */
#ifndef EXECUTOR_WARDEN_PACKAGES_H
#define EXECUTOR_WARDEN_PACKAGES_H

#include "executor/base/loop.h"
#include "executor/warden/settings.h"

struct packages;

/* NULL: the operator wants none (err->kind is ERR_NONE), or err says why they
 * are not possible here. */
struct packages *packages_open(uv_loop_t *loop,
                               const struct executor_settings *settings,
                               struct err *err);
/* Its folders go with it. Accepts NULL. */
void packages_close(struct packages *packages);

/* Tries once whether any could be installed; on_tried comes from the loop.
 * text: why not. */
void packages_try(struct packages *packages,
                  void (*on_tried)(void *owner, bool works, const char *text),
                  void *owner);

/* Path of a new, empty folder, for a box; the caller owns it. NULL: errno. */
char *packages_folder(struct packages *packages);
/* Takes the folder, and removes all of it in its own time. Accepts NULL. */
void packages_remove(uv_loop_t *loop, char *folder);

/* One installation, or one that waits for its turn. */
struct install;

struct install_request {
    const char *folder;       /* where to: packages_folder() */
    struct view module;       /* the one that is missing; or, if empty, */
    struct view requirements; /* what code asks for, one a line */
    void (*on_end)(void *owner);
    void *owner;
};

/* The longest that a cell waits for one. */
enum { INSTALL_MS = 180000 };

/* Copies the names, borrows folder; on_end comes once, from the loop. */
struct install *install_new(struct packages *packages,
                            const struct install_request *request);
/* Stops it, if it goes on; on_end does not come any more. May be called in
 * on_end. Accepts NULL. */
void install_free(struct install *install);

bool install_worked(const struct install *install);
/* A sentence without its stop: what was installed, or why nothing was. */
const char *install_text(const struct install *install);

#endif
