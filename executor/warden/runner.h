/* runner.h - the warden's end of one Python interpreter in its box.
 *
 *   BORN LATER --> STARTING --> READY --> DEAD
 *        |            |                    ^
 *        `------------+--------------------'
 *
 * What it says is hostile: frames are bounded and checked, those that do not
 * carry the nonce of the cell that runs are dropped. stdout and stderr are
 * drained before a frame is handled, so that order is kept, and passed on up
 * to a limit; the rest is counted and dropped. */
#ifndef EXECUTOR_WARDEN_RUNNER_H
#define EXECUTOR_WARDEN_RUNNER_H

#include "executor/warden/zygote.h"

struct runner;

struct runner_events {
    void (*on_ready)(void *owner);
    /* During a cell: what it puts out. stream: stdout, stderr. */
    void (*on_output)(void *owner, struct view stream, struct view bytes);
    void (*on_display)(void *owner, const struct list *bundle);
    void (*on_done)(void *owner, const struct guest_frame *done);
    /* It ended, or said something that no interpreter of ours says and was
     * killed for it; runner_cause() tells. Nothing comes after. */
    void (*on_dead)(void *owner);
    void *owner;
};

struct runner *runner_new(uv_loop_t *loop, struct zygote *zygote,
                          struct box *box, const struct session_limits *limits,
                          struct runner_events events);
/* Kills it, if it lives. No callback comes any more. Accepts NULL. */
void runner_free(struct runner *runner);

/* number: from 1; the cell's file is <cell-N>. */
bool runner_cell(struct runner *runner, uint64_t number, struct view code,
                 struct err *err);
/* Bytes written in this cell so far, passed on or not. */
uint64_t runner_written(const struct runner *runner, struct view stream);
void runner_interrupt(struct runner *runner);
void runner_kill(struct runner *runner); /* on_dead tells */
/* Between cells nothing of it runs: threads that a cell left neither take time
 * nor memory that nobody watches. runner_cell() wakes it. */
void runner_freeze(struct runner *runner);
/* Nothing is read while paused: whoever writes too much waits. */
void runner_pause(struct runner *runner, bool pause);
/* "it was killed by signal 11 (Segmentation fault)". */
const char *runner_cause(const struct runner *runner);

#endif
