/* zygote.h - the warden's end of quern-guest, which forks interpreters.
 *
 *   nobody --> next --(READY)--> now --> nobody
 *                                 `--(old, or has forked enough)--> next ...
 *
 * One fork at a time; the others wait their turn. All that is forked from one
 * process shares the layout of its memory and its hash seed: code that has
 * learned the layout in one session could use it in another. So the process is
 * renewed; the next one has loaded everything before it takes the place of the
 * present one. Interpreters outlive the process that they were forked from,
 * whether it was renewed or died. */
#ifndef EXECUTOR_WARDEN_ZYGOTE_H
#define EXECUTOR_WARDEN_ZYGOTE_H

#include "executor/warden/boxes.h"

struct zygote;

enum { CHILD_ENDS = FORK_DOORS - FORK_CHANNEL };

/* One process, wanted or alive: embedded in its owner, who calls
 * zygote_forget() before it goes. */
struct child_process {
    struct child_process *next;
    uint64_t number; /* of the request to fork */
    uint64_t pid;    /* as the warden sees it; 0: not born yet */
    /* Until on_forked: borrowed. */
    const struct box *box;
    struct session_limits limits;
    bool awaited;         /* a session waits for it */
    int ends[CHILD_ENDS]; /* the guest's: channel, stdout, stderr, trace */
    /* A pidfd, which the owner takes; -1: it could not be born. Never before
     * zygote_fork() returns. */
    void (*on_forked)(void *owner, int pidfd);
    void (*on_exited)(void *owner, int wait_status);
    void *owner;
};

/* Starts one. on_up: each time when one has begun to fork. Borrows settings. */
struct zygote *zygote_new(uv_loop_t *loop,
                          const struct executor_settings *settings,
                          enum profile profile, void (*on_up)(void *owner),
                          void *owner);
void zygote_free(struct zygote *zygote);

/* Forks child into its box when its turn comes; on_forked tells. */
void zygote_fork(struct zygote *zygote, struct child_process *child);
/* No callback comes any more. */
void zygote_forget(struct zygote *zygote, struct child_process *child);

/* Forks wait for it. */
bool zygote_is_busy(const struct zygote *zygote);
/* False: none is there, and the last three ended before they were ready. It
 * goes on trying; those who wait are told each time that it fails. */
bool zygote_starts(const struct zygote *zygote);
/* What its sessions may import, with commas; "": none has been up. */
const char *zygote_libraries(const struct zygote *zygote);
/* Which one it is; 0: none has been up. */
uint64_t zygote_generation(const struct zygote *zygote);

#endif
