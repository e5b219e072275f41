/* boxes.h - boxes, made ahead.
 *
 *   STARTING --> READY --> LENT --> DYING --> (gone)
 *      |           |                  ^
 *      `-----------+------------------'
 *
 * A few stand ready, so that a session does not wait for one. A box is used
 * once: it dies with its session's interpreter and everything in it. READY
 * boxes hold no process but their init.
 *
 * With --insecure a box is a folder and nothing more. */
#ifndef EXECUTOR_WARDEN_BOXES_H
#define EXECUTOR_WARDEN_BOXES_H

#include "executor/base/loop.h"
#include "executor/box/box.h"
#include "executor/warden/cgroup.h"
#include "executor/warden/packages.h"
#include "executor/warden/users.h"

struct box;
struct boxes;

/* Somebody wants a box: embedded in the waiter, who sets disk_bytes and the
 * callback. While waiting it is in a list: boxes_forget() before it goes. */
struct box_request {
    struct box_request *next;
    uint64_t disk_bytes; /* its quota; those that stand ready have the most */
    struct box *box;     /* the answer: a box, now the waiter's; or NULL, */
    struct err err;      /* ... and why */
    void (*on_answer)(void *owner);
    void *owner;
    bool waiting;
};

/* They come from the loop, never during a call of this header. */
struct box_events {
    /* Once for the last box_sweep(). clean: nothing else runs in the box; false
     * also when init is gone. */
    void (*on_swept)(void *owner, bool clean);
    /* An orphan that was to be kept has ended. pid as the box sees it, status
     * as waitpid() has it. */
    void (*on_ended)(void *owner, pid_t pid, int status);
    void *owner;
};

/* Keeps ready boxes at hand from now on. Borrows all arguments for its life;
 * cgroups and packages may be NULL. */
struct boxes *boxes_new(uv_loop_t *loop,
                        const struct executor_settings *settings,
                        struct cgroups *cgroups, struct packages *packages,
                        struct users *users);
/* Kills all that are not lent; none may be lent any more. Accepts NULL. */
void boxes_free(struct boxes *boxes);
/* Some were killed and are not dead yet. A box ends only when the zygote has
 * waited for the interpreters in it, whose parent it is. */
bool boxes_are_dying(const struct boxes *boxes);
/* The last one made has a /proc: its processes can be measured. */
bool boxes_have_proc(const struct boxes *boxes);

/* ... and of the host: enum box_host_part, or'ed. */
unsigned int boxes_host_parts(const struct boxes *boxes);

/* Lends one: at once (true, request->box), or on_answer tells later, never
 * before this returns. */
bool boxes_take(struct boxes *boxes, struct box_request *request);
/* Somebody waits for a box. */
bool boxes_are_wanted(const struct boxes *boxes);
/* on_answer does not come any more. */
void boxes_forget(struct boxes *boxes, struct box_request *request);

/* What follows is about a box that is lent. Descriptors stay the box's. */
void box_use(struct box *box, struct box_events events);
/* BOX_NAMESPACES of them; NULL: it is a folder only. */
const int *box_namespaces(const struct box *box);
bool box_is_folder(const struct box *box);
/* Its user is not the warden's: see visit.h. */
bool box_has_own_user(const struct box *box);
int box_workspace(const struct box *box);
/* NULL: it has none. */
struct cgroup *box_cgroup(const struct box *box);
/* Lowers the limits of its cgroup, if it has one. False: err. */
bool box_limit(struct box *box, const struct session_limits *limits,
               struct err *err);
/* The descriptors by which one enters its cgroups, which the caller closes.
 * False: no descriptors are left. */
bool box_doors(const struct box *box, int doors[CGROUP_DOORS]);
int box_proc(const struct box *box); /* -1: the box has none */
/* What is /packages inside; NULL: it has none. */
const char *box_packages(const struct box *box);
/* Names its session, for the log of the proxy. */
void box_name(struct box *box, const char *session);
/* Stops those in keep and ends every other process; on_swept tells when that is
 * done. From then on on_ended tells when an orphan among those in keep ends.
 * keep: pids as the box sees them, 0 for nobody. */
void box_sweep(struct box *box, const pid_t keep[BOX_KEPT]);
/* Kills everything inside, and takes the box. None of its events comes any
 * more; but the next box is begun, and if that fails, others who wait for one
 * hear of it before this returns. Accepts NULL. */
void box_release(struct box *box);

#endif
