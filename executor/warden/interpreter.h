/* interpreter.h - the Python of one session: a box, the process in it that
 * runs the cells, and that process's snapshot.
 *
 *                 .--- cells ---.
 *   born --> ready              |---> dead --> back --> ready
 *                 `--- park ----'        the snapshot takes its place
 *
 * A snapshot is a fork of the runner, made between two cells and parked. When
 * the runner ends or has to be killed, the snapshot is the runner: variables
 * are what they were when it was made. Without a snapshot a new runner is born
 * into the same box.
 *
 * Files are the box's: they stay, and are not rolled back. */
#ifndef EXECUTOR_WARDEN_INTERPRETER_H
#define EXECUTOR_WARDEN_INTERPRETER_H

#include "executor/warden/output.h"
#include "executor/warden/runner.h"

struct interpreter;

struct interpreter_events {
    void (*on_ready)(void *owner); /* born, or back */
    /* During a cell: what it puts out. stream: stdout, stderr. */
    output_bytes *on_output;
    void (*on_frame)(void *owner, const struct guest_frame *frame);
    /* interpreter_park() is done: there is a snapshot, or why not. */
    void (*on_parked)(void *owner, const char *failure);
    /* interpreter_sweep() is done; clean: nothing is left running. */
    void (*on_swept)(void *owner, bool clean);
    /* The runner has ended; interpreter_cause() tells. */
    void (*on_dead)(void *owner);
    void *owner;
};

/* Takes the box. awaited: a session waits for it. */
struct interpreter *interpreter_new(uv_loop_t *loop, struct zygote *zygote,
                                    struct box *box,
                                    const struct session_limits *limits,
                                    bool awaited);
/* Nobody hears of it until then. */
void interpreter_use(struct interpreter *interpreter,
                     struct interpreter_events events);
/* Everything inside is gone with it. Accepts NULL. */
void interpreter_free(struct interpreter *interpreter);

struct box *interpreter_box(const struct interpreter *interpreter);
/* Resident memory of the runner; 0: not known. */
uint64_t interpreter_bytes(const struct interpreter *interpreter);
bool interpreter_is_ready(const struct interpreter *interpreter);
const char *interpreter_cause(const struct interpreter *interpreter);

/* Before its first cell: lowers memory and processes. False: these
 * cannot be had so. */
bool interpreter_limit(struct interpreter *interpreter,
                       const struct session_limits *limits);

/* Between cells nothing of it runs, and nothing is heard of it: threads that
 * a cell left take neither time nor memory that nobody watches. A cell wakes
 * the runner. */
bool interpreter_cell(struct interpreter *interpreter, struct guest_frame *cell,
                      struct err *err);
bool interpreter_send(struct interpreter *interpreter,
                      struct guest_frame *frame, struct err *err);
/* Bytes written in this cell so far, passed on or not. */
uint64_t interpreter_written(const struct interpreter *interpreter,
                             struct view stream);
void interpreter_interrupt(struct interpreter *interpreter);
/* The code tells which line it is at, if it can. */
void interpreter_trace(struct interpreter *interpreter);
/* What it told last, when it was asked or as it crashed; the first old times of
 * these do not count. 0: it did not say. number: of the cell. */
uint64_t interpreter_line(struct interpreter *interpreter, uint64_t number,
                          size_t old);
/* Nothing is read while paused: whoever writes too much waits. */
void interpreter_pause(struct interpreter *interpreter, bool pause);

/* The cell is over, or has to be: everything stands still. */
void interpreter_freeze(struct interpreter *interpreter);
/* While it is frozen: what it is made of is all that was seen in its box. */
bool interpreter_is_alone(struct interpreter *interpreter);
/* Ends every process in the box but the runner and its snapshot; or all but
 * the snapshot, the runner too. */
void interpreter_sweep(struct interpreter *interpreter, bool runner_too);

/* Makes a snapshot; the one before goes. */
void interpreter_park(struct interpreter *interpreter);
void interpreter_drop_snapshot(struct interpreter *interpreter);
bool interpreter_has_snapshot(const struct interpreter *interpreter);
/* Once the runner is dead and the box swept: on_ready tells, at once if there
 * is a snapshot. */
void interpreter_go_back(struct interpreter *interpreter);

#endif
