/* zygote.c - the process that every session is forked from.
 *
 * It stays outside of every box and runs no code of a cell. It has one thread:
 * a fork in the middle of another thread's work would copy locks that nobody
 * lets go of. */
#include "executor/guest/zygote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/guest/channel.h"
#include "executor/guest/interp.h"
#include "executor/guest/runner.h"
#include "schemas/message/limits.h"

/* Into a box: all but the folder. Without one: no namespaces. */
enum { BOXED_FDS = FORK_WORKSPACE, UNBOXED_FDS = FORK_FDS - FORK_CHANNEL };

/* Their number tells whether a box is to be entered. -1 where nothing came. */
static bool sort_fds(const struct frame_fds *frame_fds, int fds[FORK_FDS],
                     struct err *err)
{
    bool boxed = frame_fds->count == BOXED_FDS;

    memset(fds, -1, sizeof(int) * FORK_FDS);
    if (!boxed && frame_fds->count != UNBOXED_FDS)
        return err_set(err, ERR_REJECT, "bad_message",
                       "fork: %zu descriptors, must be %d or %d",
                       frame_fds->count, BOXED_FDS, UNBOXED_FDS);
    memcpy(fds + (boxed ? 0 : FORK_CHANNEL), frame_fds->fds,
           frame_fds->count * sizeof(int));
    return true;
}

/* The pidfd goes along: a number could be another process's by the time that
 * the warden uses it. */
static bool answer_forked(uint64_t number, pid_t pid, struct err *err)
{
    struct guest_frame forked = {
        .type = GUEST_FORKED,
        .number = number,
        .pid = (uint64_t)pid,
    };
    int pidfd = pidfd_open(pid, 0);
    bool sent = channel_write(CHANNEL_FD, &forked, pidfd, err);

    if (pidfd >= 0)
        close(pidfd);
    return sent;
}

/* pid 0: the session could not be forked; status is the error number. */
static bool answer_exited(uint64_t number, pid_t pid, int status,
                          struct err *err)
{
    struct guest_frame exited = {
        .type = GUEST_EXITED,
        .number = number,
        .pid = (uint64_t)pid,
        .wait_status = (uint64_t)status,
    };

    return channel_write(CHANNEL_FD, &exited, -1, err);
}

static bool fork_session(const struct guest_frame *frame,
                         const struct frame_fds *frame_fds, bool online,
                         struct err *err)
{
    int fds[FORK_FDS];
    pid_t pid;

    if (!sort_fds(frame_fds, fds, err))
        return false;
    pid = interp_fork(fds[FORK_PID_NS] >= 0 ? fds : NULL);
    if (pid == 0)
        runner_run(frame, online, fds);
    if (pid < 0)
        return answer_exited(frame->number, 0, errno, err);
    return answer_forked(frame->number, pid, err);
}

/* False without an error: the warden is gone. */
static bool zygote_serve(bool online, struct buf *bytes, struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(frame_fds_close) struct frame_fds frame_fds = { .count = 0 };
    struct guest_frame frame;

    if (!channel_read(CHANNEL_FD, &frame, bytes, &arena, &frame_fds, err))
        return false;
    return frame.type != GUEST_FORK ||
           fork_session(&frame, &frame_fds, online, err);
}

/* Sessions are our children: nobody else can wait for them, and the warden must
 * hear how they ended. One that was told as forked may end before the warden
 * has read that; frames keep their order. */
static bool reap(int signals, struct err *err)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(signals, &info, sizeof(info)) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (!answer_exited(0, pid, status, err))
            return false;
    return true;
}

/* Everything is loaded; data: the libraries that sessions may import. */
static bool answer_ready(struct err *err)
{
    char names[MAX_LIBRARIES_BYTES];
    struct guest_frame ready = { .type = GUEST_READY };

    ready.data = (struct view){ names, interp_libraries(names, sizeof(names)) };
    return channel_write(CHANNEL_FD, &ready, -1, err);
}

bool zygote_run(bool online, struct err *err)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct pollfd events[2] = { { .fd = CHANNEL_FD, .events = POLLIN } };
    bool going = true;
    sigset_t child;

    err->kind = ERR_NONE;
    signal(SIGINT, SIG_IGN); /* Ctrl-C at a terminal: the warden handles it */
    /* The warden stops sessions between cells: that is no end. */
    struct sigaction ends = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP };
    sigaction(SIGCHLD, &ends, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    events[1].fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    events[1].events = POLLIN;
    buf_init(&bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    going = answer_ready(err);
    while (going) {
        if (poll(events, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return err_set(err, ERR_RETRY, "internal", "poll: %s",
                           strerror(errno));
        }
        if (events[1].revents)
            going = reap(events[1].fd, err);
        if (going && events[0].revents)
            going = zygote_serve(online, &bytes, err);
    }
    return err->kind == ERR_NONE;
}
