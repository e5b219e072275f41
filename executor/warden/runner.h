/* runner.h - one process that runs cells, or is parked until it has to: the
 * warden's end of its channel.
 *
 *   UNBORN --> STARTING --> READY --> DEAD
 *      |           |                   ^
 *      `-----------+-------------------'
 *
 * It is forked from the zygote, or from another runner (a snapshot). What it
 * writes is not believed, only bounded: frames that do not carry the nonce of
 * the cell that runs are dropped. */
#ifndef EXECUTOR_WARDEN_RUNNER_H
#define EXECUTOR_WARDEN_RUNNER_H

#include "executor/warden/zygote.h"

struct runner;

struct runner_events {
    /* At first; and when it is ready for a cell again after a split. */
    void (*on_ready)(void *owner, struct runner *runner);
    /* What it says of the cell that runs: DISPLAY, TOOL, INSTALL, DONE. */
    void (*on_frame)(void *owner, const struct guest_frame *frame);
    /* It ended, or said something that no interpreter of ours says and was
     * killed for it; runner_cause() tells. Nothing comes after. */
    void (*on_dead)(void *owner, struct runner *runner);
    void *owner;
};

/* Ends of pipes that a new process gets: stdout, stderr, trace. */
enum { RUNNER_PIPES = 3 };

struct runner_request {
    struct box *box;
    struct session_limits limits;
    bool awaited;            /* a session waits for it */
    int pipes[RUNNER_PIPES]; /* closed here as soon as it is born */
};
struct runner *runner_new(uv_loop_t *loop, struct zygote *zygote,
                          const struct runner_request *request,
                          struct runner_events events);
/* Between cells: a fork of that runner, with its pipes. NULL: no descriptors
 * are left. */
struct runner *runner_split(struct runner *parent);
/* Kills it, if it lives. No callback comes any more. Accepts NULL. */
void runner_free(struct runner *runner);

/* cell: without nonce. */
bool runner_cell(struct runner *runner, struct guest_frame *cell,
                 struct err *err);
/* Something for the cell that runs, which may have ended meanwhile. */
bool runner_send(struct runner *runner, struct guest_frame *frame,
                 struct err *err);
void runner_signal(struct runner *runner, int number);
/* Lowers limits of memory and processes that it was born with; a higher one
 * changes nothing. False: it is not there any more. */
bool runner_limit(struct runner *runner, const struct session_limits *born,
                  const struct session_limits *limits);
/* Nothing is read while paused: whoever writes too much waits. */
void runner_pause(struct runner *runner, bool pause);

bool runner_is_ready(const struct runner *runner);
/* Whom the kernel kills when a box, or the machine, has no memory left: a
 * runner and what it has started before anybody else; a snapshot after them. */
void runner_spare(struct runner *runner, bool spare);

/* Its pid as its box sees it; 0: not known. */
pid_t runner_pid(const struct runner *runner);
/* The box's init has told how it ended. */
void runner_ended(struct runner *runner, int wait_status);
/* "it was killed by signal 11 (Segmentation fault)". */
const char *runner_cause(const struct runner *runner);

#endif
