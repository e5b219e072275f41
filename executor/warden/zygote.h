/* zygote.h - the warden's end of quern-guest, which forks interpreters.
 *
 * One birth at a time; the others wait their turn. A zygote that dies is
 * started again: interpreters that it forked live on. */
#ifndef EXECUTOR_WARDEN_ZYGOTE_H
#define EXECUTOR_WARDEN_ZYGOTE_H

#include "executor/warden/boxes.h"

struct zygote;

enum { BIRTH_ENDS = FORK_WORKSPACE - FORK_CHANNEL };

/* One process, wanted or alive: embedded in its owner. */
struct birth {
    struct birth *next;
    uint64_t number;
    uint64_t pid; /* 0: not born yet */
    bool asked;
    /* Until on_born: borrowed. */
    const struct box *box;
    struct session_limits limits;
    int ends[BIRTH_ENDS]; /* the guest's: channel, stdout, stderr, trace */
    /* A pidfd, which the owner takes; -1: it could not be born. */
    void (*on_born)(void *owner, int pidfd);
    void (*on_exited)(void *owner, int wait_status);
    void *owner;
};

struct zygote *zygote_new(uv_loop_t *loop, const struct settings *settings);
void zygote_free(struct zygote *zygote);

void zygote_fork(struct zygote *zygote, struct birth *birth);
/* No callback comes any more. */
void zygote_forget(struct zygote *zygote, struct birth *birth);

#endif
