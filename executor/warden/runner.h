/* runner.h - one process that runs cells, or is parked until it has to: the
 * warden's end of its channel.
 *
 *   UNBORN --> STARTING --> READY --> DEAD
 *      |           |                   ^
 *      `-----------+-------------------'
 *
 * It is forked from the zygote, or from another runner (a snapshot). Code of a
 * cell can write to its channel, so the warden bounds what it sends and trusts
 * none of it. Frames without the nonce of the running cell are dropped: so a
 * cell can only speak for itself, and only while it runs. */
#ifndef EXECUTOR_WARDEN_RUNNER_H
#define EXECUTOR_WARDEN_RUNNER_H

#include "executor/warden/zygote.h"

struct runner;

/* The runner may be freed in each of these. */
struct runner_events {
    /* At first; and when it is ready for a cell again after a split. Hostile
     * code can also send it between cells. */
    void (*on_ready)(void *owner, struct runner *runner);
    /* What it says of the cell that runs: all that a guest may send during one,
     * up to DONE. Borrowed for the call. */
    void (*on_frame)(void *owner, const struct guest_frame *frame);
    /* It ended, or sent something that no interpreter of ours sends and was
     * killed for it; runner_cause() tells. Nothing comes after. */
    void (*on_dead)(void *owner, struct runner *runner);
    void *owner;
};

/* Ends of pipes that a new process gets: stdout, stderr, trace. */
enum { RUNNER_PIPES = 3 };

struct runner_request {
    struct box *box; /* borrowed: it outlives the runner */
    struct session_limits limits;
    bool awaited;            /* a session waits for it */
    int pipes[RUNNER_PIPES]; /* taken: closed here as soon as it is born */
};
struct runner *runner_new(uv_loop_t *loop, struct zygote *zygote,
                          const struct runner_request *request,
                          struct runner_events events);
/* Between cells: a fork of that runner, with its pipes and events. It shows
 * itself by its pidfd, which the warden checks. NULL: no descriptors left. */
struct runner *runner_split(struct runner *parent);
/* Kills it, if it lives. No callback comes any more. Accepts NULL. */
void runner_free(struct runner *runner);

/* Starts a cell; sets the nonce of the frame, a new one that nobody can guess.
 * False: the frame is too large. */
bool runner_cell(struct runner *runner, struct guest_frame *cell,
                 struct err *err);
/* Something for the cell that runs, which may have ended meanwhile. Sets the
 * nonce. False: it does not read what it is sent, and there is no room for
 * more. If it is gone: true, and on_dead tells later. */
bool runner_send(struct runner *runner, struct guest_frame *frame,
                 struct err *err);
void runner_signal(struct runner *runner, int number);
/* Lowers the limits of memory and processes that it was born with; a higher one
 * changes nothing. False: it is not there any more, or the kernel refused. */
bool runner_limit(struct runner *runner, const struct session_limits *born,
                  const struct session_limits *limits);
/* While paused nothing is read: code that sends much has to wait. When that
 * ends, frames that came before are handled before it returns. */
void runner_pause(struct runner *runner, bool pause);

bool runner_is_ready(const struct runner *runner);
/* When a box, or the machine, has no memory left, the kernel kills a runner and
 * what it has started before any other process; one that is spared, as
 * snapshots are, after them. */
void runner_spare(struct runner *runner, bool spare);

/* Its pid as its box sees it; 0: not known. */
pid_t runner_pid(const struct runner *runner);
/* The box's init has told how it ended. */
void runner_ended(struct runner *runner, int wait_status);
/* "it was killed by signal 11 (Segmentation fault)". */
const char *runner_cause(const struct runner *runner);

#endif
