/* zygote.h - the warden's end of quern-guest, which forks interpreters.
 *
 *   nobody --> next --(READY)--> now --> nobody
 *                                 `--(old, or has forked enough)--> next ...
 *
 * One fork at a time; the others wait their turn. What is forked from one
 * process shares the layout of its memory and its hash seed, so it is renewed:
 * the next one has loaded everything before it takes the place of the one that
 * is there now. Interpreters outlive the process that they were forked from,
 * whether it was renewed or died. */
#ifndef EXECUTOR_WARDEN_ZYGOTE_H
#define EXECUTOR_WARDEN_ZYGOTE_H

#include "executor/warden/boxes.h"

struct zygote;

enum { CHILD_ENDS = FORK_DOORS - FORK_CHANNEL };

/* One process, wanted or alive: embedded in its owner. */
struct child_process {
    struct child_process *next;
    uint64_t number;
    uint64_t pid; /* 0: not born yet */
    /* Until on_forked: borrowed. */
    const struct box *box;
    struct session_limits limits;
    bool awaited;
    int ends[CHILD_ENDS]; /* the guest's: channel, stdout, stderr, trace */
    /* A pidfd, which the owner takes; -1: it could not be born. */
    void (*on_forked)(void *owner, int pidfd);
    void (*on_exited)(void *owner, int wait_status);
    void *owner;
};

/* on_up: from now on it forks, or another one in its place. */
struct zygote *zygote_new(uv_loop_t *loop,
                          const struct executor_settings *settings,
                          enum profile profile, void (*on_up)(void *owner),
                          void *owner);
void zygote_free(struct zygote *zygote);

void zygote_fork(struct zygote *zygote, struct child_process *child);
/* No callback comes any more. */
void zygote_forget(struct zygote *zygote, struct child_process *child);

/* Forks wait for it. */
bool zygote_is_busy(const struct zygote *zygote);
/* False: none is there, and the last ones ended before they were ready. It goes
 * on trying; those who wait are told each time. */
bool zygote_starts(const struct zygote *zygote);
/* What its sessions may import, with commas; "": none has been up. */
const char *zygote_libraries(const struct zygote *zygote);
/* Which one it is; 0: none has been up. */
uint64_t zygote_generation(const struct zygote *zygote);

#endif
