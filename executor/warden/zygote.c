/* zygote.c - the warden's end of quern-guest, which forks interpreters.
 *
 * The zygote itself runs no code of cells and is trusted more than a runner;
 * but its frames are bounded, too, and one that breaks its channel is ended. */
#include "executor/warden/zygote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/wire.h"
#include "executor/warden/orphans.h"
#include "executor/warden/spawn.h"
#include "schemas/message/limits.h"

enum {
    LOAD_MS = 60000, /* to import everything */
    ANSWER_MS = 30000,
    RESTART_MS = 500,
    RETRY_MS = 30000, /* to try to renew one again that is there */
    PATIENCE = 3,     /* starts that fail before those who wait are refused */
    READ_BYTES = 4096,
    MAX_WORD_FRAME_BYTES = 64 << 10,
    PID_BUCKETS = 1024,
};

/* One process quern-guest. */
struct parent {
    struct zygote *zygote;
    struct watch *channel;
    int process; /* pidfd */
    bool ready;  /* everything is loaded */
    struct buf input;
    int sent_fd;  /* the pidfd of the FORKED that is coming in */
    bool reading; /* frames are being handled: */
    bool ended;   /* ... it goes when that is over */
};

struct zygote {
    uv_loop_t *loop;
    const struct executor_settings *settings;
    enum profile profile;
    struct parent *now;  /* forks; NULL: none is there */
    struct parent *next; /* loads */
    uint64_t generation, forks;
    char libraries[MAX_LIBRARIES_BYTES + 1];
    unsigned int failures;        /* to get ready, one after the other */
    struct loop_alarm *answer;    /* is due from the one that forks */
    struct loop_alarm *loading;   /* is due to be over; or: start the next */
    struct child_process *wanted; /* in the order of asking */
    struct child_process *asked; /* its answer is due; NULL: it was forgotten */
    bool due;                    /* an answer */
    struct child_process *living[PID_BUCKETS]; /* by pid */
    uint64_t numbers;                          /* of forks asked for so far */
    struct orphans *orphans;
    void (*on_up)(void *owner);
    void *owner;
};

static void ask_next(struct zygote *zygote);

/* ----------------------------------------------------------------- forks */

static struct child_process **bucket(struct zygote *zygote, uint64_t pid)
{
    return &zygote->living[pid % PID_BUCKETS];
}

static void answer_asked(struct zygote *zygote, uint64_t pid, int pidfd)
{
    struct child_process *child = zygote->asked;
    zygote->asked = NULL;
    child->pid = pid;
    if (pid > 0) {
        child->next = *bucket(zygote, pid);
        *bucket(zygote, pid) = child;
    }
    child->on_forked(child->owner, pidfd);
}

static void answer_came(struct zygote *zygote)
{
    zygote->due = false;
    alarm_stop(zygote->answer);
}

static void unlink_child(struct child_process **link,
                         const struct child_process *child)
{
    while (*link && *link != child)
        link = &(*link)->next;
    if (*link)
        *link = child->next;
}

/* ------------------------------------------------------------ up and down */

static void parent_release(struct parent *parent)
{
    buf_finish(&parent->input);
    close_fd(&parent->sent_fd);
    free(parent);
}

/* Killed: if it hangs, it does not see that its channel is closed. Interpreters
 * that it forked live on, as our children. */
static void end_parent(struct parent *parent)
{
    if (!parent)
        return;
    watch_free(parent->channel);
    if (parent->process >= 0)
        syscall(SYS_pidfd_send_signal, parent->process, SIGKILL, NULL, 0);
    close_fd(&parent->process);
    parent->ended = true;
    if (!parent->reading)
        parent_release(parent);
}

/* Tells those who wait now, not those who ask again because of it: that would
 * never end. */
static void refuse_wanted(struct zygote *zygote)
{
    size_t count = 0;
    for (struct child_process *child = zygote->wanted; child;
         child = child->next)
        count++;
    while (count-- > 0 && zygote->wanted) {
        struct child_process *child = zygote->wanted;
        zygote->wanted = child->next;
        child->on_forked(child->owner, -1);
    }
}

static void parent_go_down(struct parent *parent, const char *why)
{
    struct zygote *zygote = parent->zygote;
    bool forks = parent == zygote->now;
    log_line("zygote.down", profile_names[zygote->profile], "%s", why);
    if (forks)
        zygote->now = NULL;
    else
        zygote->next = NULL;
    end_parent(parent);
    if (!zygote->next)
        alarm_set(zygote->loading, zygote->now ? RETRY_MS : RESTART_MS);
    if (!forks) {
        zygote->failures++;
        if (!zygote_starts(zygote))
            refuse_wanted(zygote);
        return;
    }
    answer_came(zygote);
    /* A child may have been forked of which we never hear. */
    orphans_look(zygote->orphans);
    if (zygote->asked)
        answer_asked(zygote, 0, -1);
}

/* The next one has loaded everything: from now on it forks. Not while the one
 * before owes an answer, which would be lost. */
static void succeed(struct zygote *zygote)
{
    if (!zygote->next || !zygote->next->ready || zygote->due)
        return;
    end_parent(zygote->now);
    zygote->now = zygote->next;
    zygote->next = NULL;
    zygote->forks = zygote->failures = 0;
    orphans_look(zygote->orphans);
    alarm_set(zygote->loading, zygote->settings->renew_ms);
    log_line("zygote.up", profile_names[zygote->profile], "number %llu",
             (unsigned long long)++zygote->generation);
    zygote->on_up(zygote->owner);
}

/* The fork may have been forgotten meanwhile: then the new process ends by
 * itself when it finds its channel closed. */
static void parent_take_answer(struct parent *parent,
                               const struct guest_frame *frame)
{
    struct zygote *zygote = parent->zygote;
    int pidfd = take_fd(&parent->sent_fd);
    answer_came(zygote);
    if (zygote->asked && zygote->asked->number == frame->number)
        answer_asked(zygote, frame->pid, pidfd);
    else
        close_fd(&pidfd);
}

static void take_exit(struct zygote *zygote, const struct guest_frame *frame)
{
    struct child_process *child = *bucket(zygote, frame->pid);
    while (child && child->pid != frame->pid)
        child = child->next;
    if (child)
        child->on_exited(child->owner, (int)frame->wait_status);
}

static void take_ready(struct parent *parent, const struct guest_frame *frame)
{
    struct zygote *zygote = parent->zygote;
    parent->ready = true;
    snprintf(zygote->libraries, sizeof(zygote->libraries), "%.*s",
             VIEW_ARG(view_head(frame->data, MAX_LIBRARIES_BYTES)));
}

const char *zygote_libraries(const struct zygote *zygote)
{
    return zygote->libraries;
}

static bool parent_take_frame(struct parent *parent, struct view body,
                              struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct zygote *zygote = parent->zygote;
    struct guest_frame frame;
    if (!message_decode(&schema_guest_frame, body, &frame, &arena, err))
        return false;
    if (parent == zygote->next && frame.type == GUEST_READY)
        take_ready(parent, &frame);
    else if (parent == zygote->next)
        return true;
    else if (frame.type == GUEST_FORKED || frame.pid == 0)
        parent_take_answer(parent, &frame);
    else if (frame.type == GUEST_EXITED)
        take_exit(zygote, &frame);
    return true;
}

static bool parent_take_frames(struct parent *parent, struct err *err)
{
    while (!parent->ended) {
        size_t total = 0;
        struct view bytes = buf_view(&parent->input);
        if (!frame_length(bytes, MAX_WORD_FRAME_BYTES, &total, err))
            return false;
        if (total == 0 || total > bytes.len)
            return true;
        struct view body = { bytes.data + FRAME_HEADER_BYTES,
                             total - FRAME_HEADER_BYTES };
        if (!parent_take_frame(parent, body, err))
            return false;
        buf_drop(&parent->input, total);
    }
    return true;
}

static void handle(struct parent *parent)
{
    struct zygote *zygote = parent->zygote;
    struct err err;
    parent->reading = true;
    bool good = parent_take_frames(parent, &err);
    parent->reading = false;
    if (parent->ended)
        parent_release(parent);
    else if (!good)
        parent_go_down(parent, err.text);
    ask_next(zygote);
}

static void on_channel(void *owner, int events)
{
    struct parent *parent = owner;
    (void)events;
    int fds[WIRE_FDS];
    size_t count = WIRE_FDS;
    char *room = buf_reserve(&parent->input, READ_BYTES);
    ssize_t got = room ? wire_receive(watch_fd(parent->channel), room,
                                      READ_BYTES, fds, &count, MSG_DONTWAIT)
                       : 0;
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        parent_go_down(parent, "quern-guest ended");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        close_fd(&parent->sent_fd);
        parent->sent_fd = fds[i];
    }
    parent->input.len += (size_t)got;
    handle(parent);
}

static void load_next(struct zygote *zygote)
{
    int pair[2];
    if (!wire_pair(SOCK_STREAM, pair)) {
        alarm_set(zygote->loading, RESTART_MS);
        return;
    }
    char flag[] = "--profile", online[] = "--online", profile[16];
    snprintf(profile, sizeof(profile), "%s", profile_names[zygote->profile]);
    char *argv[] = { zygote->settings->guest_path, flag, profile,
                     zygote->settings->hosts ? online : NULL, NULL };
    struct parent *parent = allocate(sizeof(*parent));
    parent->zygote = zygote;
    parent->sent_fd = -1;
    parent->process = -1;
    buf_init(&parent->input, MAX_WORD_FRAME_BYTES + READ_BYTES);
    parent->channel = watch_new(zygote->loop, pair[0], on_channel, parent);
    watch_want(parent->channel, UV_READABLE);
    zygote->next = parent;
    int pid = spawn(zygote->loop, argv, pair[1]);
    close(pair[1]);
    if (pid < 0) {
        parent_go_down(parent, "it could not be started");
        return;
    }
    parent->process = (int)syscall(SYS_pidfd_open, pid, 0);
    alarm_set(zygote->loading, LOAD_MS);
}

static void on_loading(void *owner)
{
    struct zygote *zygote = owner;
    if (zygote->next && !zygote->next->ready)
        parent_go_down(zygote->next, "it does not get ready");
    else if (!zygote->next)
        load_next(zygote);
}

static void on_no_answer(void *owner)
{
    struct zygote *zygote = owner;
    if (zygote->now)
        parent_go_down(zygote->now, "no answer");
}

struct zygote *zygote_new(uv_loop_t *loop,
                          const struct executor_settings *settings,
                          enum profile profile, void (*on_up)(void *owner),
                          void *owner)
{
    struct zygote *zygote = allocate(sizeof(*zygote));
    zygote->loop = loop;
    zygote->settings = settings;
    zygote->profile = profile;
    zygote->on_up = on_up;
    zygote->owner = owner;
    zygote->orphans = orphans_new(loop);
    zygote->answer = alarm_new(loop, on_no_answer, zygote);
    zygote->loading = alarm_new(loop, on_loading, zygote);
    load_next(zygote);
    return zygote;
}

void zygote_free(struct zygote *zygote)
{
    if (!zygote)
        return;
    end_parent(zygote->now);
    end_parent(zygote->next);
    alarm_free(zygote->answer);
    alarm_free(zygote->loading);
    orphans_free(zygote->orphans);
    free(zygote);
}

bool zygote_is_busy(const struct zygote *zygote)
{
    return zygote->wanted || zygote->due;
}

bool zygote_starts(const struct zygote *zygote)
{
    return zygote->now || zygote->failures < PATIENCE;
}

uint64_t zygote_generation(const struct zygote *zygote)
{
    return zygote->generation;
}

/* ----------------------------------------------------------------- asking */

static bool send_fork(struct zygote *zygote, struct child_process *child,
                      struct err *err)
{
    CLEANUP(buf_finish) struct buf bytes;
    buf_init(&bytes, MAX_WORD_FRAME_BYTES);
    struct guest_frame frame = {
        .type = GUEST_FORK,
        .number = child->number,
        .limits = child->limits,
        .awaited = child->awaited,
    };
    if (!frame_encode(&schema_guest_frame, &frame, &bytes, err))
        return false;
    int fds[FORK_FDS];
    const int *namespaces = box_namespaces(child->box);
    if (namespaces)
        memcpy(fds, namespaces, sizeof(int) * BOX_NAMESPACES);
    memcpy(fds + FORK_CHANNEL, child->ends, sizeof(child->ends));
    fds[FORK_WORKSPACE] = box_workspace(child->box);
    if (!box_doors(child->box, fds + FORK_DOORS))
        return err_set(err, ERR_RETRY, "session_failed",
                       "no descriptors are left");
    /* Into a box: all but the last. Without one: no namespaces. */
    const int *first = namespaces ? fds : fds + FORK_CHANNEL;
    size_t count = namespaces ? FORK_WORKSPACE : FORK_FDS - FORK_CHANNEL;
    /* One at a time, so it always fits into the socket's buffer. */
    ssize_t sent = wire_send(watch_fd(zygote->now->channel), buf_view(&bytes),
                             first, count, MSG_DONTWAIT);
    for (size_t i = 0; i < CGROUP_DOORS; i++)
        close_fd(&fds[FORK_DOORS + i]);
    return sent == (ssize_t)bytes.len ||
           err_set(err, ERR_RETRY, "session_failed", "fork: %s",
                   strerror(errno));
}

static void ask_next(struct zygote *zygote)
{
    struct child_process *child = zygote->wanted;
    struct err err;
    succeed(zygote);
    if (!child || zygote->due || !zygote->now)
        return;
    child->number = ++zygote->numbers;
    if (!send_fork(zygote, child, &err)) {
        parent_go_down(zygote->now, err.text); /* the next one is asked */
        return;
    }
    zygote->wanted = child->next;
    zygote->asked = child;
    zygote->due = true;
    alarm_set(zygote->answer, ANSWER_MS);
    if (++zygote->forks == zygote->settings->renew_forks && !zygote->next)
        load_next(zygote);
}

void zygote_fork(struct zygote *zygote, struct child_process *child)
{
    child->next = NULL;
    child->pid = 0;
    struct child_process **last = &zygote->wanted;
    while (*last)
        last = &(*last)->next;
    *last = child;
    ask_next(zygote);
}

void zygote_forget(struct zygote *zygote, struct child_process *child)
{
    if (zygote->asked == child)
        zygote->asked = NULL;
    else if (child->pid > 0)
        unlink_child(bucket(zygote, child->pid), child);
    else
        unlink_child(&zygote->wanted, child);
}
