/* boxes.h - boxes, made ahead.
 *
 *   STARTING --> READY --> LENT --> DYING --> (gone)
 *      |           |                  ^
 *      `-----------+------------------'
 *
 * A few stand ready, so that a session does not wait for one. A box is used
 * once: it dies with its session's interpreter and everything in it.
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

/* Somebody waits for a box: embedded in the waiter. */
struct box_request {
    struct box_request *next;
    uint64_t disk_bytes; /* its quota; those that stand ready have the most */
    struct box *box;     /* the answer: a box, lent, or why there is none */
    struct err err;
    void (*on_answer)(void *owner);
    void *owner;
    bool waiting;
};

struct box_events {
    void (*on_swept)(void *owner, bool clean);
    /* One that was to be kept, and whose parent had ended: pid as the box sees
     * it, status as waitpid() has it. */
    void (*on_ended)(void *owner, pid_t pid, int status);
    void *owner;
};

/* Keeps ready boxes at hand from now on. Borrows the others; cgroups and
 * packages may be NULL. */
struct boxes *boxes_new(uv_loop_t *loop,
                        const struct executor_settings *settings,
                        struct cgroups *cgroups, struct packages *packages,
                        struct users *users);
/* Kills all that are not lent. */
void boxes_free(struct boxes *boxes);
/* Some were killed and are not dead yet: interpreters in them wait for their
 * parent, the zygote, to hear of it. */
bool boxes_are_dying(const struct boxes *boxes);
/* The last one made has a /proc: its processes can be measured. */
bool boxes_have_proc(const struct boxes *boxes);

/* ... and of the host: enum box_host_part, or'ed. */
unsigned int boxes_host_parts(const struct boxes *boxes);

/* Lends one: at once (true, request->box), or on_answer tells. */
bool boxes_take(struct boxes *boxes, struct box_request *request);
/* Somebody waits for one. */
bool boxes_are_wanted(const struct boxes *boxes);
void boxes_forget(struct boxes *boxes, struct box_request *request);

void box_use(struct box *box, struct box_events events);
/* BOX_NAMESPACES of them; NULL: it is a folder only. */
const int *box_namespaces(const struct box *box);
bool box_is_folder(const struct box *box);
/* Its user is not the warden's: see visit.h. */
bool box_has_own_user(const struct box *box);
int box_workspace(const struct box *box);
/* NULL: it has none. */
struct cgroup *box_cgroup(const struct box *box);
/* Less than what it was made with. */
bool box_limit(struct box *box, const struct session_limits *limits,
               struct err *err);
/* The descriptors by which one enters its cgroups; false: none are left. */
bool box_doors(const struct box *box, int doors[CGROUP_DOORS]);
int box_proc(const struct box *box); /* -1: the box has none */
/* What is /packages inside; NULL: it has none. */
const char *box_packages(const struct box *box);
/* Whose it is, for the log of its way out. */
void box_name(struct box *box, const char *session);
/* Stops those and ends every other process; on_swept tells, on_ended when one
 * of those ends from now on. keep: as the box sees them, 0 for nobody. */
void box_sweep(struct box *box, const pid_t keep[BOX_KEPT]);
/* Kills everything inside. No event comes any more. Accepts NULL. */
void box_release(struct box *box);

#endif
