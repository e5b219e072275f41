/* runner.c - a session: one process in its box, running cells.
 *
 * Until walls_enter() this process runs code of ours only, with capabilities in
 * its box. From the first cell on it belongs to that cell's code, whatever is
 * checked here. */
#include "executor/guest/runner.h"

#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "executor/box/enter.h"
#include "executor/box/walls.h"
#include "executor/guest/channel.h"
#include "executor/guest/inbox.h"
#include "executor/guest/interp.h"
#include "schemas/message/limits.h"

static struct {
    pid_t pid;        /* a cell may fork: its children are not the session */
    uint64_t nonce;   /* of the cell that runs; 0: none */
    uint64_t asked;   /* questions of that cell */
    uint64_t cleared; /* how often it has cleared its output */
    struct inbox_waiter next; /* what the main thread waits for */
} runner;

_Noreturn static void give_up(const char *what, const char *why)
{
    dprintf(STDERR_FILENO, "quern-guest: %s: %s\n", what, why);
    _exit(EX_SOFTWARE);
}

/* The received descriptors are all above CHANNEL_FD. */
static void place_descriptors(const int fds[FORK_FDS])
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (dup2(fds[FORK_STDOUT], STDOUT_FILENO) < 0 ||
        dup2(fds[FORK_STDERR], STDERR_FILENO) < 0 ||
        dup2(null, STDIN_FILENO) < 0 ||
        dup3(fds[FORK_CHANNEL], CHANNEL_FD, O_CLOEXEC) < 0)
        give_up("descriptors", strerror(errno));
}

/* All received ones are below it, and closed. */
static void keep_trace(int fd)
{
    if (dup3(fd, TRACE_FD, O_CLOEXEC) < 0)
        give_up("descriptors", strerror(errno));
    close_range(CHANNEL_FD + 1, TRACE_FD - 1, 0);
    close_range(TRACE_FD + 1, ~0U, 0);
}

static void enter_folder(int folder)
{
    if (folder >= 0 ? fchdir(folder) : chdir("/workspace"))
        give_up("working folder", strerror(errno));
}

/* The order matters. Cgroups first, as the box's user may not join them. Then
 * the user; then the descriptors, of which none but ours may be open when code
 * of a cell runs: by one of a namespace, or of a folder of the host, it might
 * leave the box. The walls last, and Python's part within them. */
static void runner_prepare(const struct session_limits *limits, bool online,
                           const int fds[FORK_FDS])
{
    struct err err;
    sigset_t none;

    runner.pid = getpid();
    if (!cgroups_enter(fds + FORK_DOORS))
        give_up("cgroup", strerror(errno));
    /* Not before: the box's user may not join all cgroups. */
    if (fds[FORK_USER_NS] >= 0 && !box_become_user())
        give_up("user", strerror(errno));
    setsid(); /* or kill(0) and nice would reach the zygote and the warden */
    place_descriptors(fds);
    enter_folder(fds[FORK_WORKSPACE]);
    keep_trace(fds[FORK_TRACE]);
    sigemptyset(&none); /* the zygote has SIGCHLD blocked, for its signalfd */
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!walls_enter(limits, online, &err))
        give_up("walls", err.text);
    if (!interp_session(&err))
        give_up("Python", err.text);
}

static void runner_say(const struct guest_frame *frame)
{
    struct err err;

    if (!channel_write(CHANNEL_FD, frame, -1, &err))
        give_up("channel", err.text);
}

bool runner_is_session(void)
{
    return getpid() == runner.pid;
}

bool runner_runs_cell(void)
{
    return runner.nonce != 0;
}

/* A process that a cell forked has come to the end of that cell: it ends like a
 * program would, and sends nothing. One that raised something has already ended
 * (endings.py). */
_Noreturn static void end_child(const struct guest_frame *done)
{
    _exit(done->status == CELL_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Before DONE is sent: the next cell may come at once, and another thread may
 * read it. */
static void expect_next(void)
{
    inbox_forget(&runner.next);
    inbox_expect(&runner.next, 0, 0);
}

/* The nonce stays until DONE is sent, so that displays of other threads still
 * carry it. Questions that are open are answered: their threads must not wait
 * for ever. */
static void run_cell(const struct guest_frame *cell)
{
    struct guest_frame done = { .type = GUEST_DONE, .nonce = cell->nonce };

    runner.nonce = cell->nonce;
    runner.asked = runner.cleared = 0;
    interp_run(cell, &done);
    if (!runner_is_session())
        end_child(&done);
    expect_next();
    runner_say(&done);
    runner.nonce = 0;
    inbox_end_cell();
}

/* What a parked snapshot does: nothing, until a frame comes. It reads none, so
 * that it touches no memory which it shares. */
static void wait_for_frame(void)
{
    struct pollfd channel = { .fd = CHANNEL_FD, .events = POLLIN };

    while (poll(&channel, 1, -1) < 0 && errno == EINTR)
        ;
}

/* In the fork: it has a channel of its own, and shows itself to the warden by
 * its pidfd. When a frame comes, it is the session now. */
static void park(int channel)
{
    struct err err;

    if (dup3(channel, CHANNEL_FD, O_CLOEXEC) < 0)
        _exit(EX_OSERR);
    int self = pidfd_open(getpid(), 0);
    if (!channel_write(CHANNEL_FD, &(struct guest_frame){ .type = GUEST_READY },
                       self, &err))
        _exit(EX_OSERR);
    close(self);
    wait_for_frame();
    runner.pid = getpid();
    inbox_init();
    interp_wake();
}

/* If the fork fails, the other end of the new channel is closed, by which the
 * warden knows. */
static void take_snapshot(const struct frame_fds *frame_fds)
{
    if (frame_fds->count == 1 && interp_split() == 0) {
        park(frame_fds->fds[0]);
        return;
    }
    interp_warm_up();
    runner_say(&(struct guest_frame){ .type = GUEST_READY });
}

/* Other threads of the session may run while it waits. */
static bool next_frame(struct err *err)
{
    enum inbox_news news;

    Py_BEGIN_ALLOW_THREADS do news = inbox_wait(&runner.next, err);
    while (news == INBOX_LOOK)
        ;
    Py_END_ALLOW_THREADS return news == INBOX_HERE;
}

static bool runner_serve(struct err *err)
{
    const struct inbox_waiter *waiter = &runner.next;

    if (!next_frame(err))
        return false;
    if (waiter->frame.type == GUEST_CELL) {
        run_cell(&waiter->frame);
        return true;
    }
    if (waiter->frame.type == GUEST_SNAPSHOT)
        take_snapshot(&waiter->frame_fds);
    expect_next();
    return true;
}

_Noreturn void runner_run(const struct guest_frame *fork, bool online,
                          const int fds[FORK_FDS])
{
    struct err err = { .kind = ERR_NONE };

    runner_prepare(&fork->limits, online, fds);
    if (!fork->awaited)
        interp_warm_up();
    inbox_expect(&runner.next, 0, 0);
    runner_say(&(struct guest_frame){ .type = GUEST_READY });
    while (runner_serve(&err))
        ;
    if (err.kind != ERR_NONE)
        give_up("channel", err.text);
    _exit(EXIT_SUCCESS); /* nothing of the cells runs any more */
}

static bool runner_tell_frame(struct guest_frame *frame, struct err *err)
{
    frame->nonce = runner.nonce;
    if (!runner.nonce || !runner_is_session())
        return true;
    return channel_write(CHANNEL_FD, frame, -1, err);
}

bool runner_display(enum guest_type type, struct view display_id,
                    uint64_t clears, struct list bundle, struct err *err)
{
    return runner_tell_frame(&(struct guest_frame){ .type = (int)type,
                                                    .display_id = display_id,
                                                    .clears = clears,
                                                    .bundle = bundle },
                             err);
}

bool runner_tell(enum guest_type type, struct err *err)
{
    return runner_tell_frame(&(struct guest_frame){ .type = (int)type }, err);
}

static bool may_ask(struct err *err)
{
    if (!runner_is_session())
        return err_set(err, ERR_REJECT, "forked",
                       "a process that the cell forked cannot ask");
    if (!runner.nonce)
        return err_set(err, ERR_REJECT, "cell_ended",
                       "the cell that asks has ended");
    return runner.asked < MAX_CELL_QUESTIONS ||
           err_set(err, ERR_REJECT, "too_many_calls",
                   "more than %d calls in one cell", MAX_CELL_QUESTIONS);
}

/* True: wait on. False: what was waited for is here, or a handler has raised an
 * exception; that happens in the main thread only. */
static bool look_after_signals(enum inbox_news news)
{
    return news == INBOX_LOOK && PyErr_CheckSignals() == 0;
}

static enum inbox_news wait_for_answer(struct inbox_waiter *answer,
                                       struct err *err)
{
    enum inbox_news news;

    Py_BEGIN_ALLOW_THREADS news = inbox_wait(answer, err);
    Py_END_ALLOW_THREADS return news;
}

static bool runner_ask_frame(struct guest_frame *question,
                             struct inbox_waiter *answer, struct err *err)
{
    enum inbox_news news;

    question->nonce = runner.nonce;
    inbox_expect(answer, question->nonce, question->number);
    answer->watchful = gettid() == runner.pid;
    bool asked = channel_write(CHANNEL_FD, question, -1, err);
    do
        news = asked ? wait_for_answer(answer, err) : INBOX_CLOSED;
    while (look_after_signals(news));
    if (news == INBOX_CLOSED && err->kind == ERR_NONE)
        err_set(err, ERR_RETRY, "internal", "the warden is gone");
    if (news != INBOX_HERE)
        inbox_forget(answer);
    return news == INBOX_HERE;
}

bool runner_ask(struct guest_frame *question, struct inbox_waiter *answer,
                struct err *err)
{
    *err = (struct err){ .kind = ERR_NONE };
    if (!may_ask(err))
        return false;
    question->number = ++runner.asked;
    return runner_ask_frame(question, answer, err);
}

/* Clears are numbered behind all questions that a cell may ask, so that no
 * answer to one is taken for an answer to the other. */
bool runner_clear(bool wait, struct err *err)
{
    struct guest_frame clear = { .type = GUEST_CLEAR, .wait = wait };
    struct inbox_waiter answer;

    *err = (struct err){ .kind = ERR_NONE };
    if (!runner.nonce || !runner_is_session())
        return true;
    clear.number = MAX_CELL_QUESTIONS + ++runner.cleared;
    if (!runner_ask_frame(&clear, &answer, err))
        return false;
    inbox_forget(&answer);
    return true;
}
