/* runner.c - the warden's end of one process that runs cells.
 *
 * The other end of the channel is in the hands of hostile code as soon as a
 * cell has run. So each frame is bounded before it is decoded, counted before
 * it is handled, and dropped if it has not the nonce of the running cell. A
 * runner that breaks these rules is killed: no guest of ours does.
 *
 * Every handler may free the runner. While frames are handled the memory stays
 * (reading, freed), else it goes at once. */
#include "executor/warden/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/wire.h"
#include "executor/box/walls.h"
#include "executor/warden/process.h"
#include "executor/warden/visit.h"
#include "schemas/message/limits.h"
#include "schemas/message/machine.h"

enum {
    READ_BYTES = 128 << 10,
    /* Of one cell, beside clears: the guest stops at 64 displays, and of what
     * replaces others it sends what can be seen. */
    MAX_FRAMES = 2000,
    LAST_WORDS_MS = 1000, /* from its end until its parent tells how it ended */
};

enum runner_state { UNBORN, STARTING, READY, DEAD };

static const struct machine_state states[] = {
    [UNBORN] = { .name = "unborn", .next = TO(STARTING) | TO(DEAD) },
    [STARTING] = { .name = "starting", .next = TO(READY) | TO(DEAD) },
    [READY] = { .name = "ready", .next = TO(DEAD) },
    [DEAD] = { .name = "dead" },
};
static const struct machine_kind kind = {
    .name = "a runner",
    .states = states,
    .count = sizeof(states) / sizeof(states[0]),
};

struct runner {
    uv_loop_t *loop;
    struct zygote *zygote; /* NULL: it is a snapshot */
    struct box *box;
    struct machine machine;
    struct runner_events events;
    struct child_process child;
    struct watch *channel;
    struct watch *process; /* pidfd */
    struct loop_alarm *last_words;
    pid_t pid;         /* as the box sees it */
    struct buf input;  /* frames from the guest */
    struct buf unsent; /* frames to it */
    int outgoing;   /* descriptor that goes with the first byte of unsent; -1 */
    int incoming;   /* descriptor that came, from a snapshot; -1: none */
    uint64_t nonce; /* of the cell that runs; 0: none */
    uint64_t heard; /* frames since this cell began, without the ... */
    uint64_t clears; /* ... first MAX_CLEARS clears */
    bool paused;
    bool hung_up; /* its channel is broken: it is ending, or is killed soon */
    bool reading; /* frames are being handled: */
    bool freed;   /* ... it goes when that is over */
    char cause[96];
};

/* A runner that was freed before it had ended: see leave_orphan(). */
struct orphan {
    struct watch *process; /* pidfd */
};

static void on_channel(void *owner, int events);

static void runner_enter(struct runner *runner, enum runner_state next)
{
    machine_go(&runner->machine, next);
}

/* ------------------------------------------------------------- its death */

static void die(struct runner *runner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void listen_to(struct runner *runner)
{
    bool on =
        runner->machine.state != DEAD && !runner->paused && !runner->hung_up;
    bool writing = runner->unsent.len > 0;
    watch_want(runner->channel,
               (on ? UV_READABLE : 0) | (writing && on ? UV_WRITABLE : 0));
}

/* on_dead may free it: nothing may come after. */
static void die(struct runner *runner, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(runner->cause, sizeof(runner->cause), format, arguments);
    va_end(arguments);
    runner_enter(runner, DEAD);
    listen_to(runner);
    if (runner->process) {
        syscall(SYS_pidfd_send_signal, watch_fd(runner->process), SIGKILL, NULL,
                0);
        watch_want(runner->process, 0);
    }
    alarm_stop(runner->last_words);
    runner->events.on_dead(runner->events.owner, runner);
}

void runner_ended(struct runner *runner, int status)
{
    if (runner->machine.state == DEAD)
        return;
    if (WIFSIGNALED(status))
        die(runner, "it was killed by signal %d (%s)", WTERMSIG(status),
            strsignal(WTERMSIG(status)));
    else
        die(runner, "it ended itself with code %d", WEXITSTATUS(status));
}

static void on_exited(void *owner, int status)
{
    runner_ended(owner, status);
}

/* Only a parent learns how a process ended: that is the zygote; of a snapshot,
 * the box's init; or we, when the zygote has gone before it. False: not we, or
 * not yet. */
static bool wait_for_end(struct runner *runner)
{
    siginfo_t info = { 0 };
    if (!runner->process ||
        waitid(P_PIDFD, (id_t)watch_fd(runner->process), &info,
               WEXITED | WNOHANG) < 0 ||
        info.si_pid == 0)
        return false;
    if (info.si_code == CLD_EXITED)
        runner_ended(runner, W_EXITCODE(info.si_status, 0));
    else
        runner_ended(runner, W_EXITCODE(0, info.si_status));
    return true;
}

static void on_last_words(void *owner)
{
    if (!wait_for_end(owner))
        die(owner, "it ended, nobody knows how");
}

/* Its pidfd tells that it ended, its parent tells how: that comes by another
 * channel, and is waited for a moment. */
static void on_process(void *owner, int events)
{
    struct runner *runner = owner;
    (void)events;
    watch_want(runner->process, 0);
    if (!wait_for_end(runner))
        alarm_set(runner->last_words, LAST_WORDS_MS);
}

/* ---------------------------------------------------------- what it says */

static void adopt(struct runner *runner, int pidfd)
{
    runner->pid = process_pid(pidfd);
    runner->process = watch_new(runner->loop, pidfd, on_process, runner);
    watch_want(runner->process, UV_READABLE);
}

/* A snapshot sends its own pidfd, as it is no child of the zygote. Hostile code
 * may send another descriptor: one that is no process of a box is refused. One
 * of another process of its own box harms that session only. */
static bool shows_itself(struct runner *runner)
{
    if (runner->process)
        return true;
    int pidfd = take_fd(&runner->incoming);
    if (pidfd < 0 || process_pid(pidfd) == 0) {
        close_fd(&pidfd);
        return false;
    }
    adopt(runner, pidfd);
    return true;
}

/* The first READY ends STARTING; all else before it is ignored. */
static void runner_take_frame(struct runner *runner,
                              const struct guest_frame *frame)
{
    if (runner->machine.state == STARTING) {
        if (frame->type != GUEST_READY)
            return;
        if (!shows_itself(runner)) {
            die(runner, "it did not show itself");
            return;
        }
        runner_enter(runner, READY);
        runner_spare(runner, !runner->zygote);
        runner->events.on_ready(runner->events.owner, runner);
        return;
    }
    if (frame->type == GUEST_READY && runner->nonce == 0) {
        runner->events.on_ready(runner->events.owner, runner);
        return;
    }
    bool named = frame->nonce == runner->nonce || !wall_wanted("nonce");
    if (!named || runner->nonce == 0)
        return; /* forged, or late */
    if (frame->type == GUEST_DONE)
        runner->nonce = 0;
    runner->events.on_frame(runner->events.owner, frame);
}

/* A guest has the answer to a clear before it goes on, so clears cannot pile up
 * here: many of them are allowed. */
static bool hears_too_much(struct runner *runner,
                           const struct guest_frame *frame)
{
    if (frame->type == GUEST_CLEAR && runner->clears < MAX_CLEARS)
        runner->clears++;
    else
        runner->heard++;
    return runner->heard > MAX_FRAMES;
}

/* Handles one frame. The session may pause or free the runner meanwhile. True:
 * go on. The views of the frame point into input, which is why it is dropped
 * from there only afterwards. */
static bool take_next(struct runner *runner)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct guest_frame frame;
    struct err err;
    size_t total = 0;
    struct view bytes = buf_view(&runner->input);
    if (!frame_length(bytes, MAX_FRAME_BYTES, &total, &err)) {
        die(runner, "it broke its channel");
        return false;
    }
    if (total == 0 || total > bytes.len)
        return false;
    struct view body = { bytes.data + FRAME_HEADER_BYTES,
                         total - FRAME_HEADER_BYTES };
    if (!message_decode(&schema_guest_frame, body, &frame, &arena, &err)) {
        log_line("runner.refused", NULL, "%s", err.text);
        die(runner, "it broke its channel");
        return false;
    }
    if (hears_too_much(runner, &frame) && wall_wanted("bounds")) {
        die(runner, "it sent more than %d frames in one cell", MAX_FRAMES);
        return false;
    }
    runner_take_frame(runner, &frame);
    if (runner->freed)
        return false;
    buf_drop(&runner->input, total);
    if (runner->input.len == 0 && runner->nonce == 0)
        buf_finish(&runner->input); /* an idle session is small */
    return runner->machine.state != DEAD && !runner->paused;
}

static void runner_release(struct runner *runner)
{
    buf_finish(&runner->input);
    buf_finish(&runner->unsent);
    free(runner);
}

static void runner_take_frames(struct runner *runner)
{
    runner->reading = true;
    while (take_next(runner))
        ;
    runner->reading = false;
    if (runner->freed)
        runner_release(runner);
}

/* The other end is closed: it is ending, or its code closed the channel. It is
 * declared dead later, from the loop, as this may be called in the middle of
 * sending. */
static void runner_hang_up(struct runner *runner)
{
    buf_finish(&runner->unsent);
    if (runner->hung_up || runner->machine.state == DEAD)
        return;
    runner->hung_up = true;
    listen_to(runner);
    alarm_set(runner->last_words, LAST_WORDS_MS);
}

static ssize_t send_unsent(struct runner *runner)
{
    return wire_send(watch_fd(runner->channel), buf_view(&runner->unsent),
                     &runner->outgoing, runner->outgoing >= 0, MSG_DONTWAIT);
}

static void write_unsent(struct runner *runner)
{
    ssize_t sent = send_unsent(runner);
    if (sent < 0 && errno == ETOOMANYREFS) {
        /* The kernel counts descriptors on their way for each user, and others
         * have used that up: the frame goes without, and the snapshot fails. */
        close_fd(&runner->outgoing);
        sent = send_unsent(runner);
    }
    if (sent < 0 && errno != EAGAIN) {
        runner_hang_up(runner);
        return;
    }
    if (sent > 0) {
        buf_drop(&runner->unsent, (size_t)sent);
        close_fd(&runner->outgoing);
    }
    if (runner->unsent.len == 0)
        buf_finish(&runner->unsent);
    listen_to(runner);
}

static void read_channel(struct runner *runner)
{
    if (runner->input.max == 0)
        buf_init(&runner->input,
                 MAX_FRAME_BYTES + FRAME_HEADER_BYTES + READ_BYTES);
    /* Only a snapshot that has not shown itself may hand over a descriptor.
     * From others none are received: code could fill up our table of them. */
    size_t count = runner->machine.state == STARTING && !runner->process;
    if (count > 0)
        close_fd(&runner->incoming); /* of several the last counts */
    char *room = buf_reserve(&runner->input, READ_BYTES);
    ssize_t got =
        room ? wire_receive(watch_fd(runner->channel), room, READ_BYTES,
                            &runner->incoming, &count, MSG_DONTWAIT)
             : 0;
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        runner_hang_up(runner);
        return;
    }
    runner->input.len += (size_t)got;
    runner_take_frames(runner);
}

static void on_channel(void *owner, int events)
{
    struct runner *runner = owner;
    if (events & UV_WRITABLE && runner->unsent.len > 0)
        write_unsent(runner);
    if (events & UV_READABLE)
        read_channel(runner);
}

/* ------------------------------------------------------------- its fork */

static void close_ends(struct runner *runner)
{
    for (size_t i = 0; i < CHILD_ENDS; i++)
        close_fd(&runner->child.ends[i]);
}

static void on_forked(void *owner, int pidfd)
{
    struct runner *runner = owner;
    close_ends(runner);
    if (pidfd < 0) {
        die(runner, zygote_starts(runner->zygote)
                        ? "it could not be forked"
                        : "quern-guest does not start; the executor's log has "
                          "its last words");
        return;
    }
    adopt(runner, pidfd);
    runner_enter(runner, STARTING);
    listen_to(runner); /* its first frame may be there already */
}

/* Gives the guest's end of its channel, -1: no descriptors are left. */
static int make_channel(struct runner *runner)
{
    int pair[2];
    if (!wire_pair(SOCK_STREAM, pair))
        return -1;
    runner->channel = watch_new(runner->loop, pair[0], on_channel, runner);
    return pair[1];
}

static struct runner *runner_make(uv_loop_t *loop, struct box *box,
                                  struct runner_events events)
{
    struct runner *runner = allocate(sizeof(*runner));
    machine_init(&runner->machine, &kind, runner, UNBORN);
    runner->loop = loop;
    runner->box = box;
    runner->events = events;
    runner->outgoing = runner->incoming = -1;
    runner->last_words = alarm_new(loop, on_last_words, runner);
    for (size_t i = 0; i < CHILD_ENDS; i++)
        runner->child.ends[i] = -1;
    return runner;
}

struct runner *runner_new(uv_loop_t *loop, struct zygote *zygote,
                          const struct runner_request *request,
                          struct runner_events events)
{
    struct runner *runner = runner_make(loop, request->box, events);
    struct child_process *child = &runner->child;
    memcpy(child->ends + 1, request->pipes, sizeof(request->pipes));
    child->ends[0] = make_channel(runner);
    if (child->ends[0] < 0 || request->pipes[RUNNER_PIPES - 1] < 0) {
        /* Out of descriptors: nobody will answer, the owner's deadline ends
         * it. The limit on sessions is there to prevent this. */
        log_line("runner.failed", NULL, "descriptors: %s", strerror(errno));
        close_ends(runner);
        return runner;
    }
    runner->zygote = zygote;
    child->box = request->box;
    child->limits = request->limits;
    child->awaited = request->awaited;
    child->on_forked = on_forked;
    child->on_exited = on_exited;
    child->owner = runner;
    zygote_fork(zygote, child);
    return runner;
}

/* The guest's end of the new channel goes to the parent, and by its fork to the
 * snapshot. */
struct runner *runner_split(struct runner *parent)
{
    struct err err;
    struct guest_frame ask = { .type = GUEST_SNAPSHOT };
    struct runner *runner =
        runner_make(parent->loop, parent->box, parent->events);
    int end = make_channel(runner);
    if (end < 0) {
        runner_free(runner);
        return NULL;
    }
    runner_enter(runner, STARTING);
    listen_to(runner);
    parent->outgoing = end; /* closed when it is sent, or with the parent */
    if (!runner_send(parent, &ask, &err))
        abort(); /* a frame of a few bytes */
    return runner;
}

/* It has ended. If its zygote is gone it is our child, and nobody else waits
 * for it; if not, waitid() fails and does no harm. */
static void on_orphan(void *owner, int events)
{
    struct orphan *orphan = owner;
    siginfo_t info;
    (void)events;
    waitid(P_PIDFD, (id_t)watch_fd(orphan->process), &info, WEXITED | WNOHANG);
    watch_free(orphan->process);
    free(orphan);
}

/* Keeps a copy of its pidfd until it has ended, as SIGKILL takes its time: a
 * zombie would keep its box from ending. */
static void leave_orphan(struct runner *runner)
{
    int fd = fcntl(watch_fd(runner->process), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return;
    struct orphan *orphan = allocate(sizeof(*orphan));
    orphan->process = watch_new(runner->loop, fd, on_orphan, orphan);
    watch_want(orphan->process, UV_READABLE);
}

void runner_free(struct runner *runner)
{
    if (!runner)
        return;
    if (runner->zygote)
        zygote_forget(runner->zygote, &runner->child);
    runner_signal(runner, SIGKILL);
    if (runner->process)
        leave_orphan(runner);
    close_ends(runner);
    close_fd(&runner->outgoing);
    close_fd(&runner->incoming);
    watch_free(runner->channel);
    watch_free(runner->process);
    alarm_free(runner->last_words);
    runner->freed = true;
    if (!runner->reading)
        runner_release(runner);
}

/* ----------------------------------------------------------------- cells */

void runner_signal(struct runner *runner, int number)
{
    if (runner->process && runner->machine.state != DEAD)
        syscall(SYS_pidfd_send_signal, watch_fd(runner->process), number, NULL,
                0);
}

/* The kernel lets a process lower the limits of another of its user. By pid:
 * there is no such call for a pidfd, see is_alive(). */
static bool lower(pid_t pid, __rlimit_resource_t resource, uint64_t born,
                  uint64_t wanted)
{
    struct rlimit limit;
    if (wanted >= born)
        return true;
    if (prlimit(pid, resource, NULL, &limit) < 0)
        return false;
    /* Of memory, what was mapped at the fork is not counted. */
    limit.rlim_max -= born - wanted;
    limit.rlim_cur = limit.rlim_max;
    return prlimit(pid, resource, &limit, NULL) == 0;
}

/* As long as the pidfd says that it lives, its number is nobody else's. */
static bool is_alive(const struct runner *runner)
{
    return runner->process && runner->machine.state != DEAD &&
           syscall(SYS_pidfd_send_signal, watch_fd(runner->process), 0, NULL,
                   0) == 0;
}

bool runner_limit(struct runner *runner, const struct session_limits *born,
                  const struct session_limits *limits)
{
    pid_t pid = (pid_t)runner->child.pid;
    return is_alive(runner) &&
           lower(pid, RLIMIT_AS, born->memory_bytes, limits->memory_bytes) &&
           lower(pid, RLIMIT_NPROC, born->processes, limits->processes);
}

struct spare_task {
    int process;
    bool spare;
};

static void spare_now(void *context)
{
    const struct spare_task *task = context;
    process_spare(task->process, task->spare);
}

void runner_spare(struct runner *runner, bool spare)
{
    if (runner->process)
        visit(runner->box, spare_now,
              &(struct spare_task){ watch_fd(runner->process), spare });
}

/* 64 random bits for each cell: a thread or process that an earlier cell left
 * behind cannot guess them, and so cannot end or speak for this one. */
static uint64_t new_nonce(void)
{
    uint64_t nonce = 0;
    while (nonce == 0)
        if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
            abort();
    return nonce;
}

bool runner_send(struct runner *runner, struct guest_frame *frame,
                 struct err *err)
{
    frame->nonce = runner->nonce;
    if (runner->unsent.max == 0)
        buf_init(&runner->unsent, 2 * (size_t)MAX_FRAME_BYTES);
    if (!frame_encode(&schema_guest_frame, frame, &runner->unsent, err))
        return false;
    write_unsent(runner);
    return true;
}

bool runner_cell(struct runner *runner, struct guest_frame *cell,
                 struct err *err)
{
    runner->nonce = new_nonce();
    runner->heard = runner->clears = 0;
    return runner_send(runner, cell, err);
}

void runner_pause(struct runner *runner, bool pause)
{
    if (runner->paused == pause || runner->machine.state == DEAD)
        return;
    runner->paused = pause;
    listen_to(runner);
    if (!pause && !runner->reading)
        runner_take_frames(runner);
}

bool runner_is_ready(const struct runner *runner)
{
    return runner->machine.state == READY;
}

pid_t runner_pid(const struct runner *runner)
{
    return runner->pid;
}

const char *runner_cause(const struct runner *runner)
{
    return runner->cause;
}
