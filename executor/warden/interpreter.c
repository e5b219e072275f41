/* interpreter.c - the Python of one session: its runner, its snapshot, its
 * pipes.
 *
 * Which process is the runner changes; pipes and box stay. Everything in the
 * box is stopped between cells: interpreter_cell() and _park() wake the runner,
 * and a freeze comes after both. */
#include "executor/warden/interpreter.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/box/walls.h"
#include "executor/warden/box_processes.h"
#include "executor/warden/memory.h"
#include "schemas/message/limits.h"

enum {
    STREAMS = 2,
    TRACE_BYTES = 64 << 10, /* a pipe: frames of Python code, a line each */
};

struct interpreter {
    uv_loop_t *loop;
    struct zygote *zygote;
    struct box *box;
    struct session_limits limits;
    struct interpreter_events events;
    struct runner *runner;
    struct runner *snapshot; /* NULL: none */
    struct runner *parking;  /* a snapshot that is being made; NULL: none */
    struct output_pipe streams[STREAMS];
    int trace; /* pipe: tracebacks, when it is asked or crashes */
    bool ready;
    bool split;   /* while parking: the runner is ready for the next cell */
    bool running; /* a cell */
    bool paused;
    char cause[96]; /* how the last runner ended */
};

static void listen_to_streams(struct interpreter *interpreter)
{
    bool on = interpreter->running && !interpreter->paused;
    for (size_t i = 0; i < STREAMS; i++)
        output_listen(&interpreter->streams[i], on);
}

/* What the cell wrote before it sent a frame is passed on before the frame. */
static void interpreter_drain(struct interpreter *interpreter)
{
    for (size_t i = 0; interpreter->running && i < STREAMS; i++)
        output_drain(&interpreter->streams[i]);
}

/* The cell is over. */
static void end_streams(struct interpreter *interpreter)
{
    for (size_t i = 0; interpreter->running && i < STREAMS; i++)
        output_tell_end(&interpreter->streams[i]);
    interpreter->running = false;
    listen_to_streams(interpreter);
}

/* Whom a sweep spares. */
static void interpreter_list_kept(const struct interpreter *interpreter,
                                  pid_t pids[BOX_KEPT])
{
    pids[0] = interpreter->runner ? runner_pid(interpreter->runner) : 0;
    pids[1] = interpreter->snapshot ? runner_pid(interpreter->snapshot) : 0;
}

/* ------------------------------------------------------ what its runners do */

static void on_output(void *owner, struct view stream, uint64_t offset,
                      struct view bytes)
{
    struct interpreter *interpreter = owner;
    interpreter->events.on_output(interpreter->events.owner, stream, offset,
                                  bytes);
}

static void on_frame(void *owner, const struct guest_frame *frame)
{
    struct interpreter *interpreter = owner;
    interpreter_drain(interpreter);
    if (frame->type == GUEST_DONE)
        end_streams(interpreter);
    interpreter->events.on_frame(interpreter->events.owner, frame);
}

/* Both are ready, the fork and the runner: the new snapshot takes the place of
 * the one before, which was needed until now. */
static void parked(struct interpreter *interpreter)
{
    runner_free(interpreter->snapshot);
    interpreter->snapshot = interpreter->parking;
    interpreter->parking = NULL;
    interpreter->events.on_parked(interpreter->events.owner, NULL);
}

static void on_ready(void *owner, struct runner *runner)
{
    struct interpreter *interpreter = owner;
    if (interpreter->parking) {
        interpreter->split |= runner == interpreter->runner;
        if (interpreter->split && runner_is_ready(interpreter->parking))
            parked(interpreter);
        return;
    }
    if (interpreter->ready)
        return; /* hostile code sends it again */
    interpreter->ready = true;
    if (interpreter->events.on_ready)
        interpreter->events.on_ready(interpreter->events.owner);
}

static void stop_parking(struct interpreter *interpreter, const char *why)
{
    struct runner *failed = interpreter->parking;
    interpreter->parking = NULL;
    interpreter->events.on_parked(interpreter->events.owner, why);
    runner_free(failed); /* not before: why may point into it */
}

static void on_dead(void *owner, struct runner *runner)
{
    struct interpreter *interpreter = owner;
    if (runner == interpreter->parking) {
        stop_parking(interpreter, runner_cause(runner));
    } else if (runner == interpreter->snapshot) {
        interpreter_drop_snapshot(interpreter);
    } else {
        interpreter_drain(interpreter);
        end_streams(interpreter);
        interpreter->ready = false;
        snprintf(interpreter->cause, sizeof(interpreter->cause), "%s",
                 runner_cause(runner));
        if (interpreter->events.on_dead)
            interpreter->events.on_dead(interpreter->events.owner);
    }
}

static void on_swept(void *owner, bool clean)
{
    struct interpreter *interpreter = owner;
    if (interpreter->events.on_swept)
        interpreter->events.on_swept(interpreter->events.owner, clean);
}

static void on_ended(void *owner, pid_t pid, int status)
{
    struct interpreter *interpreter = owner;
    struct runner *runners[] = { interpreter->runner, interpreter->snapshot };
    for (size_t i = 0; i < 2; i++)
        if (runners[i] && runner_pid(runners[i]) == pid) {
            runner_ended(runners[i], status);
            return;
        }
}

/* -------------------------------------------------------------- life cycle */

static void finish_streams(struct interpreter *interpreter)
{
    for (size_t i = 0; i < STREAMS; i++)
        output_finish(&interpreter->streams[i]);
    close_fd(&interpreter->trace);
}

/* Gives the ends that are written to. The last is -1 when no descriptors are
 * left, by which runner_new() knows. */
static void make_streams(struct interpreter *interpreter,
                         int ends[RUNNER_PIPES])
{
    static const char *const names[] = { "stdout", "stderr" };
    int pair[2];
    finish_streams(interpreter);
    for (size_t i = 0; i < RUNNER_PIPES; i++)
        ends[i] = -1;
    for (size_t i = 0; i < STREAMS; i++) {
        if (pipe2(pair, O_CLOEXEC) < 0)
            return;
        ends[i] = pair[1];
        /* For /dev/stdout: in a box it is opened by another user than ours. */
        (void)fchmod(pair[1], 0622);
        output_init(&interpreter->streams[i], interpreter->loop, pair[0],
                    view_of(names[i]), on_output, interpreter);
    }
    /* Not blocking: a process that crashes must not wait until its traceback is
     * read. */
    if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) == 0) {
        interpreter->trace = pair[0];
        ends[STREAMS] = pair[1];
    }
}

static void interpreter_be_born(struct interpreter *interpreter, bool awaited)
{
    struct runner_request request = {
        .box = interpreter->box,
        .limits = interpreter->limits,
        .awaited = awaited,
    };
    make_streams(interpreter, request.pipes);
    interpreter->runner = runner_new(
        interpreter->loop, interpreter->zygote, &request,
        (struct runner_events){ on_ready, on_frame, on_dead, interpreter });
}

struct interpreter *interpreter_new(uv_loop_t *loop, struct zygote *zygote,
                                    struct box *box,
                                    const struct session_limits *limits,
                                    bool awaited)
{
    struct interpreter *interpreter = allocate(sizeof(*interpreter));
    interpreter->loop = loop;
    interpreter->zygote = zygote;
    interpreter->box = box;
    interpreter->limits = *limits;
    interpreter->trace = -1;
    box_use(box, (struct box_events){ on_swept, on_ended, interpreter });
    interpreter_be_born(interpreter, awaited);
    return interpreter;
}

void interpreter_use(struct interpreter *interpreter,
                     struct interpreter_events events)
{
    interpreter->events = events;
}

void interpreter_free(struct interpreter *interpreter)
{
    if (!interpreter)
        return;
    runner_free(interpreter->parking);
    runner_free(interpreter->snapshot);
    runner_free(interpreter->runner);
    finish_streams(interpreter);
    box_release(interpreter->box);
    free(interpreter);
}

struct box *interpreter_box(const struct interpreter *interpreter)
{
    return interpreter->box;
}
uint64_t interpreter_bytes(const struct interpreter *interpreter)
{
    return memory_of(interpreter->box, runner_pid(interpreter->runner));
}
bool interpreter_is_ready(const struct interpreter *interpreter)
{
    return interpreter->ready;
}
const char *interpreter_cause(const struct interpreter *interpreter)
{
    return interpreter->cause;
}

bool interpreter_limit(struct interpreter *interpreter,
                       const struct session_limits *limits)
{
    struct err err;
    if (!box_limit(interpreter->box, limits, &err) ||
        !runner_limit(interpreter->runner, &interpreter->limits, limits))
        return false;
    interpreter->limits = *limits;
    return true;
}

/* ------------------------------------------------------------------ cells */

bool interpreter_cell(struct interpreter *interpreter, struct guest_frame *cell,
                      struct err *err)
{
    char dropped[TRACE_BYTES];
    for (size_t i = 0; i < STREAMS; i++)
        output_restart(&interpreter->streams[i]);
    while (read(interpreter->trace, dropped, sizeof(dropped)) > 0)
        ;
    interpreter->running = true;
    listen_to_streams(interpreter);
    bool sent = runner_cell(interpreter->runner, cell, err);
    runner_signal(interpreter->runner, SIGCONT);
    return sent;
}

bool interpreter_send(struct interpreter *interpreter,
                      struct guest_frame *frame, struct err *err)
{
    return runner_send(interpreter->runner, frame, err);
}

uint64_t interpreter_written(const struct interpreter *interpreter,
                             struct view stream)
{
    return interpreter->streams[view_is(stream, "stderr")].written;
}

void interpreter_interrupt(struct interpreter *interpreter)
{
    runner_signal(interpreter->runner, SIGINT);
}

void interpreter_trace(struct interpreter *interpreter)
{
    runner_signal(interpreter->runner, TRACE_SIGNAL);
}

/* Python's faulthandler writes tracebacks, innermost call first:
 * File "<cell-3>", line 2 in f. The line is the innermost of this cell, in the
 * last traceback that has one; after a crash, only that traceback counts. */
uint64_t interpreter_line(struct interpreter *interpreter, uint64_t number,
                          size_t old)
{
    static const char start[] = "most recent call first";
    char text[TRACE_BYTES + 1], step[64];
    uint64_t line = 0;
    size_t count = 0;
    ssize_t got = read(interpreter->trace, text, TRACE_BYTES);
    text[got > 0 ? got : 0] = '\0';
    snprintf(step, sizeof(step), "File \"<cell-%llu>\", line ",
             (unsigned long long)number);
    char *crash = strstr(text, "Fatal Python error");
    if (crash)
        old = 0;
    for (char *at = strstr(crash ? crash : text, start), *next; at; at = next) {
        next = strstr(at + 1, start);
        if (next)
            *next = '\0'; /* of this one only */
        const char *found = count++ >= old ? strstr(at, step) : NULL;
        if (found)
            line = strtoull(found + strlen(step), NULL, 10);
        if (next)
            *next = start[0];
    }
    /* Hostile code may write there what it likes; no cell has so many lines. */
    return line <= MAX_CODE_BYTES ? line : 0;
}

void interpreter_pause(struct interpreter *interpreter, bool pause)
{
    if (interpreter->paused == pause)
        return;
    interpreter->paused = pause;
    listen_to_streams(interpreter);
    runner_pause(interpreter->runner, pause);
}

void interpreter_freeze(struct interpreter *interpreter)
{
    if (!wall_wanted("freeze"))
        return;
    runner_signal(interpreter->runner, SIGSTOP);
    if (interpreter->snapshot)
        runner_signal(interpreter->snapshot, SIGSTOP);
}

/* Twice: the end of a process that the first look just missed may have woken
 * the runner, which could have started others. */
bool interpreter_is_alone(struct interpreter *interpreter)
{
    pid_t pids[BOX_KEPT];
    interpreter_list_kept(interpreter, pids);
    int proc = box_proc(interpreter->box);
    if (!box_processes_is_only(proc, pids, BOX_KEPT))
        return false;
    interpreter_freeze(interpreter);
    return box_processes_is_only(proc, pids, BOX_KEPT);
}

void interpreter_sweep(struct interpreter *interpreter, bool runner_too)
{
    pid_t pids[BOX_KEPT];
    interpreter_list_kept(interpreter, pids);
    if (runner_too) {
        /* The snapshot that is being made goes, too: the runner that it comes
         * from is not trusted any more. */
        runner_free(interpreter->parking);
        interpreter->parking = NULL;
        runner_signal(interpreter->runner, SIGKILL);
        pids[0] = 0;
    }
    box_sweep(interpreter->box, pids);
}

/* -------------------------------------------------------------- snapshots */

void interpreter_park(struct interpreter *interpreter)
{
    interpreter->split = false;
    interpreter->parking = runner_split(interpreter->runner);
    if (interpreter->parking)
        runner_signal(interpreter->runner, SIGCONT);
    else
        stop_parking(interpreter, "no descriptors are left");
}

void interpreter_drop_snapshot(struct interpreter *interpreter)
{
    runner_free(interpreter->snapshot);
    interpreter->snapshot = NULL;
}

bool interpreter_has_snapshot(const struct interpreter *interpreter)
{
    return interpreter->snapshot;
}

void interpreter_go_back(struct interpreter *interpreter)
{
    runner_free(interpreter->runner);
    interpreter->runner = interpreter->snapshot;
    interpreter->snapshot = NULL;
    interpreter->paused = false;
    interpreter->ready = false;
    if (interpreter->runner) {
        runner_spare(interpreter->runner, false);
        on_ready(interpreter, interpreter->runner);
    } else {
        interpreter_be_born(interpreter, true);
    }
}
