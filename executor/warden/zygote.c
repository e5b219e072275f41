/* zygote.c - the warden's end of quern-guest, which forks interpreters. */
#include "executor/warden/zygote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/warden/log.h"
#include "executor/warden/spawn.h"
#include "executor/warden/wire.h"
#include "schemas/message/limits.h"

enum {
    ANSWER_MS = 30000, /* the first answer comes after all imports */
    RESTART_MS = 500,
    LOOK_MS = 200, /* for orphans */
    MAX_LOOKS = 20,
    READ_BYTES = 4096,
    MAX_WORD_FRAME_BYTES = 64 << 10,
};

struct zygote {
    uv_loop_t *loop;
    const struct settings *settings;
    struct watch *channel; /* NULL: down */
    int process;           /* pidfd, while it is up */
    struct alarm *alarm;   /* an answer is due; or: start again */
    struct birth *births;  /* wanted and alive, in the order of asking */
    struct birth *asked;   /* the one whose answer is due */
    uint64_t numbers;
    struct buf input;
    int passenger; /* the pidfd of the FORKED that is coming in */
    struct alarm *looking;
    unsigned int looks;
    pid_t zombie; /* that the last look saw */
};

static void ask_next(struct zygote *zygote);

/* ------------------------------------------------------------ up and down */

static void answer_asked(struct zygote *zygote, int pidfd)
{
    struct birth *birth = zygote->asked;
    zygote->asked = NULL;
    birth->on_born(birth->owner, pidfd);
}

/* An interpreter that was born while its zygote died is our child now, and
 * nobody knows of it; its box cannot end while it is a zombie. Whoever is
 * known is waited for at once, so a zombie that two looks see is nobody's. */
static void on_look(void *owner)
{
    struct zygote *zygote = owner;
    siginfo_t info = { 0 };
    waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid > 0 && info.si_pid == zygote->zombie) {
        waitpid(info.si_pid, NULL, WNOHANG);
        zygote->looks = 0;
    }
    zygote->zombie = info.si_pid;
    if (++zygote->looks < MAX_LOOKS)
        alarm_set(zygote->looking, LOOK_MS);
}

/* It may hang, and then it does not see that its channel is closed. */
static void end_process(struct zygote *zygote)
{
    if (zygote->process >= 0)
        syscall(SYS_pidfd_send_signal, zygote->process, SIGKILL, NULL, 0);
    close_fd(&zygote->process);
}

static void go_down(struct zygote *zygote, const char *why)
{
    if (!zygote->channel)
        return;
    log_line("zygote.down", NULL, "%s", why);
    watch_free(zygote->channel);
    zygote->channel = NULL;
    end_process(zygote);
    zygote->looks = 0;
    alarm_set(zygote->looking, LOOK_MS);
    buf_clear(&zygote->input);
    close_fd(&zygote->passenger);
    alarm_set(zygote->alarm, RESTART_MS);
    if (zygote->asked)
        answer_asked(zygote, -1);
}

static struct birth *find_pid(struct zygote *zygote, uint64_t pid)
{
    struct birth *birth = zygote->births;
    while (birth && birth->pid != pid)
        birth = birth->next;
    return birth;
}

/* An answer to a birth that was given up meanwhile has nobody: what was born
 * ends when it finds its channel closed. */
static void take_answer(struct zygote *zygote, const struct guest_frame *frame)
{
    int pidfd = zygote->passenger;
    zygote->passenger = -1;
    if (zygote->asked && zygote->asked->number == frame->number) {
        alarm_stop(zygote->alarm);
        zygote->asked->pid = frame->pid;
        answer_asked(zygote, pidfd);
    } else {
        close_fd(&pidfd);
    }
}

static bool take_frame(struct zygote *zygote, struct view body, struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct guest_frame frame;
    if (!message_decode(&schema_guest_frame, body, &frame, &arena, err))
        return false;
    struct birth *birth = frame.pid ? find_pid(zygote, frame.pid) : NULL;
    if (frame.type == GUEST_FORKED || frame.pid == 0)
        take_answer(zygote, &frame);
    else if (frame.type == GUEST_EXITED && birth)
        birth->on_exited(birth->owner, (int)frame.wait_status);
    return true;
}

static bool take_frames(struct zygote *zygote, struct err *err)
{
    for (;;) {
        size_t total = 0;
        struct view bytes = buf_view(&zygote->input);
        if (!frame_length(bytes, MAX_WORD_FRAME_BYTES, &total, err))
            return false;
        if (total == 0 || total > bytes.len)
            return true;
        struct view body = { bytes.data + FRAME_HEADER_BYTES,
                             total - FRAME_HEADER_BYTES };
        if (!take_frame(zygote, body, err))
            return false;
        if (!zygote->channel)
            return true;
        buf_drop(&zygote->input, total);
    }
}

static void on_channel(void *owner, int events)
{
    struct zygote *zygote = owner;
    (void)events;
    int fds[WIRE_FDS];
    size_t count = WIRE_FDS;
    char *room = buf_reserve(&zygote->input, READ_BYTES);
    ssize_t got = room ? wire_receive(watch_fd(zygote->channel), room,
                                      READ_BYTES, fds, &count)
                       : 0;
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        go_down(zygote, "quern-guest ended");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        close_fd(&zygote->passenger);
        zygote->passenger = fds[i];
    }
    zygote->input.len += (size_t)got;
    struct err err;
    if (!take_frames(zygote, &err))
        go_down(zygote, err.text);
    else
        ask_next(zygote);
}

static void go_up(struct zygote *zygote)
{
    int pair[2];
    if (!wire_pair(SOCK_STREAM, pair)) {
        alarm_set(zygote->alarm, RESTART_MS);
        return;
    }
    char flag[] = "--profile";
    char *argv[] = { zygote->settings->guest_path, flag,
                     zygote->settings->profile, NULL };
    zygote->channel = watch_new(zygote->loop, pair[0], on_channel, zygote);
    watch_want(zygote->channel, UV_READABLE);
    int pid = spawn(zygote->loop, argv, pair[1]);
    close(pair[1]);
    if (pid < 0) {
        go_down(zygote, "it could not be started");
        return;
    }
    zygote->process = (int)syscall(SYS_pidfd_open, pid, 0);
    ask_next(zygote);
}

static void on_alarm(void *owner)
{
    struct zygote *zygote = owner;
    if (zygote->channel)
        go_down(zygote, "no answer");
    else
        go_up(zygote);
}

struct zygote *zygote_new(uv_loop_t *loop, const struct settings *settings)
{
    struct zygote *zygote = allocate(sizeof(*zygote));
    zygote->loop = loop;
    zygote->settings = settings;
    zygote->passenger = -1;
    zygote->process = -1;
    zygote->looking = alarm_new(loop, on_look, zygote);
    buf_init(&zygote->input, MAX_WORD_FRAME_BYTES + READ_BYTES);
    zygote->alarm = alarm_new(loop, on_alarm, zygote);
    go_up(zygote);
    return zygote;
}

void zygote_free(struct zygote *zygote)
{
    if (!zygote)
        return;
    watch_free(zygote->channel);
    end_process(zygote);
    alarm_free(zygote->alarm);
    alarm_free(zygote->looking);
    buf_finish(&zygote->input);
    close_fd(&zygote->passenger);
    free(zygote);
}

/* ---------------------------------------------------------------- births */

static bool send_fork(struct zygote *zygote, struct birth *birth,
                      struct err *err)
{
    CLEANUP(buf_finish) struct buf bytes;
    buf_init(&bytes, MAX_WORD_FRAME_BYTES);
    struct guest_frame frame = {
        .type = GUEST_FORK,
        .number = birth->number,
        .limits = birth->limits,
    };
    if (!frame_encode(&schema_guest_frame, &frame, &bytes, err))
        return false;
    int fds[FORK_FDS];
    const int *namespaces = box_namespaces(birth->box);
    if (namespaces)
        memcpy(fds, namespaces, sizeof(int) * BOX_NAMESPACES);
    memcpy(fds + FORK_CHANNEL, birth->ends, sizeof(birth->ends));
    fds[FORK_WORKSPACE] = box_workspace(birth->box);
    /* Into a box: all but the last. Without one: the last four only. */
    const int *first = namespaces ? fds : fds + FORK_CHANNEL;
    size_t count = namespaces ? FORK_WORKSPACE : FORK_FDS - FORK_CHANNEL;
    /* One at a time, so it always fits into the socket's buffer. */
    ssize_t sent =
        wire_send(watch_fd(zygote->channel), buf_view(&bytes), first, count);
    return sent == (ssize_t)bytes.len ||
           err_set(err, ERR_RETRY, "session_failed", "fork: %s",
                   strerror(errno));
}

static void ask_next(struct zygote *zygote)
{
    struct birth *birth = zygote->births;
    while (birth && birth->asked)
        birth = birth->next;
    if (!birth || zygote->asked || !zygote->channel)
        return;
    birth->number = ++zygote->numbers;
    struct err err;
    if (!send_fork(zygote, birth, &err)) {
        go_down(zygote, err.text); /* the next zygote is asked */
        return;
    }
    birth->asked = true;
    zygote->asked = birth;
    alarm_set(zygote->alarm, ANSWER_MS);
}

void zygote_fork(struct zygote *zygote, struct birth *birth)
{
    birth->next = NULL;
    birth->asked = false;
    birth->pid = 0;
    struct birth **last = &zygote->births;
    while (*last)
        last = &(*last)->next;
    *last = birth;
    ask_next(zygote);
}

void zygote_forget(struct zygote *zygote, struct birth *birth)
{
    for (struct birth **link = &zygote->births; *link; link = &(*link)->next)
        if (*link == birth) {
            *link = birth->next;
            break;
        }
    if (zygote->asked == birth)
        zygote->asked = NULL;
}
