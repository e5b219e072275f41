/* packages.h - packages on demand: wheels, into the box of one session.
 *
 *   STORE/wheels/       unpacked, shared; executor/packages looks after it
 *   STORE/run-XXXXXX/   this warden's, locked while it lives
 *     box-N/              a box has it read-only as /packages
 *     work-N/             what one installation needs while it goes on
 *
 * A program outside every box does it (executor/packages), one per request: the
 * warden itself opens no connection and looks into no wheel. */
#ifndef EXECUTOR_WARDEN_PACKAGES_H
#define EXECUTOR_WARDEN_PACKAGES_H

#include "executor/base/loop.h"
#include "executor/warden/settings.h"

struct packages;

/* NULL: the operator wants none; or, with err, they are not possible here. */
struct packages *packages_open(uv_loop_t *loop,
                               const struct executor_settings *settings,
                               struct err *err);
/* Its folders go with it. Accepts NULL. */
void packages_close(struct packages *packages);

/* Whether any could be installed; text: why not. Once. */
void packages_try(struct packages *packages,
                  void (*on_tried)(void *owner, bool works, const char *text),
                  void *owner);

/* A new, empty folder, for a box. NULL, with errno: there can be none. */
char *packages_folder(struct packages *packages);
/* Takes the folder, and removes all of it in its own time. Accepts NULL. */
void packages_remove(uv_loop_t *loop, char *folder);

/* One installation, or one that waits for its turn. */
struct install;

struct install_request {
    const char *folder;       /* where to */
    struct view module;       /* the one that is missed; or: */
    struct view requirements; /* one a line */
    void (*on_end)(void *owner);
    void *owner;
};

/* The longest that anybody should wait for one. */
enum { INSTALL_MS = 180000 };

/* Borrows folder; on_end comes from the loop. */
struct install *install_new(struct packages *packages,
                            const struct install_request *request);
/* Stops it, if it goes on. Accepts NULL. */
void install_free(struct install *install);

bool install_worked(const struct install *install);
/* A sentence without its stop: what was installed, or why nothing was. */
const char *install_text(const struct install *install);

#endif
