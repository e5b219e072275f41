/* interpreter.h - the Python of one session: a box, the process in it that
 * runs the cells, and that process's snapshot.
 *
 *                 .--- cells ---.
 *   born --> ready              |---> dead --> back --> ready
 *                 `--- park ----'        the snapshot takes its place
 *
 * A snapshot is a fork of the runner, made between two cells and parked. When
 * the runner ends or has to be killed, the snapshot becomes the runner:
 * variables are what they were when it was made. Without a snapshot a new
 * runner is born into the same box.
 *
 * Files are the box's: they stay, and are not rolled back.
 *
 * Events come from the loop, but for three: interpreter_park(), go_back() and
 * pause() may call back before they return. */
#ifndef EXECUTOR_WARDEN_INTERPRETER_H
#define EXECUTOR_WARDEN_INTERPRETER_H

#include "executor/warden/output.h"
#include "executor/warden/runner.h"

struct interpreter;

struct interpreter_events {
    void (*on_ready)(void *owner); /* born, or back */
    /* During a cell: what it writes. stream: stdout, stderr. bytes are borrowed
     * for the call. */
    output_bytes *on_output;
    /* What it sends during a cell; borrowed for the call. All that was written
     * before has been passed to on_output. */
    void (*on_frame)(void *owner, const struct guest_frame *frame);
    /* interpreter_park() is done. failure: why there is no new snapshot; NULL:
     * there is one. */
    void (*on_parked)(void *owner, const char *failure);
    /* interpreter_sweep() is done; clean: nothing is left running. */
    void (*on_swept)(void *owner, bool clean);
    /* The runner has ended; interpreter_cause() tells how. Its snapshot, if it
     * has one, has not taken its place yet. */
    void (*on_dead)(void *owner);
    void *owner;
};

/* Takes the box; borrows the zygote. awaited: a session waits for it, so it is
 * not warmed up before it is ready. */
struct interpreter *interpreter_new(uv_loop_t *loop, struct zygote *zygote,
                                    struct box *box,
                                    const struct session_limits *limits,
                                    bool awaited);
/* Sets who hears of what happens; until then nobody does. */
void interpreter_use(struct interpreter *interpreter,
                     struct interpreter_events events);
/* Kills everything in the box, and the box. No event comes any more. It may be
 * called in any event but on_output. Accepts NULL. */
void interpreter_free(struct interpreter *interpreter);

struct box *interpreter_box(const struct interpreter *interpreter);
/* Resident memory of the runner; 0: not known. */
uint64_t interpreter_bytes(const struct interpreter *interpreter);
bool interpreter_is_ready(const struct interpreter *interpreter);
const char *interpreter_cause(const struct interpreter *interpreter);

/* Before its first cell: lowers its limits of memory and processes. False: that
 * did not work, and it must not be used. */
bool interpreter_limit(struct interpreter *interpreter,
                       const struct session_limits *limits);

/* Starts a cell: wakes the runner. Between cells nothing in the box runs, and
 * nothing is read from it: threads that a cell left behind cannot take time or
 * memory that nobody watches. */
bool interpreter_cell(struct interpreter *interpreter, struct guest_frame *cell,
                      struct err *err);
/* Something for the cell that runs. False: it does not read what it is sent. */
bool interpreter_send(struct interpreter *interpreter,
                      struct guest_frame *frame, struct err *err);
/* Bytes written in this cell so far, passed on or not. */
uint64_t interpreter_written(const struct interpreter *interpreter,
                             struct view stream);
void interpreter_interrupt(struct interpreter *interpreter);
/* Asks the code which line it is at; interpreter_line() has the answer later,
 * if there is one. */
void interpreter_trace(struct interpreter *interpreter);
/* The line of the cell of that number that it told last: when it was asked, or
 * as it crashed. The first old answers do not count. 0: it did not tell. Once:
 * the answers are read. */
uint64_t interpreter_line(struct interpreter *interpreter, uint64_t number,
                          size_t old);
/* While paused nothing is read from it: code that writes much has to wait. */
void interpreter_pause(struct interpreter *interpreter, bool pause);

/* Stops the runner and its snapshot (SIGSTOP). Other processes of the cell go
 * on until a sweep ends them. */
void interpreter_freeze(struct interpreter *interpreter);
/* While it is frozen: no process was seen in its box but its own. */
bool interpreter_is_alone(struct interpreter *interpreter);
/* Ends every process in the box but the runner and its snapshot; or all but
 * the snapshot, the runner too. */
void interpreter_sweep(struct interpreter *interpreter, bool runner_too);

/* Makes a snapshot, for which the runner is woken; the one before goes when the
 * new one is there. on_parked tells. */
void interpreter_park(struct interpreter *interpreter);
void interpreter_drop_snapshot(struct interpreter *interpreter);
bool interpreter_has_snapshot(const struct interpreter *interpreter);
/* Once the runner is dead and the box swept: the snapshot takes its place, and
 * on_ready comes before this returns; or a new runner is born. */
void interpreter_go_back(struct interpreter *interpreter);

#endif
