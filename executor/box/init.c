/* init.c - pid 1 of a box: reaps, and ends what a cell left running.
 *
 * It holds nothing that could leak, and reads nothing that the box's code wrote
 * but the names in /proc. The kernel lets no process of the box kill it: as pid
 * 1 of its namespace it only gets signals from inside that it handles, and it
 * blocks all. When it ends, the kernel kills everything in the box. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/box/box.h"
#include "executor/box/walls.h"

enum {
    MAX_ROUNDS = 2000, /* the memory of a large process takes time to free */
    ROUND_US = 1000, /* after the quick rounds: time for those killed to end */
    QUICK_ROUNDS = 3,
    STEP = 1024, /* of process numbers, where none can be forked */
};

/* Of the last BOX_SWEEP: whom to spare, and to tell of when they end. */
static pid_t kept[BOX_KEPT];

static bool init_is_kept(pid_t pid)
{
    for (size_t i = 0; i < BOX_KEPT; i++)
        if (pid == kept[i])
            return true;
    return false;
}

/* The warden may be gone: then the channel is closed, and the loop ends us. */
static void init_say(struct box_word word)
{
    send(BOX_CHANNEL, &word, sizeof(word), MSG_NOSIGNAL);
}

/* A snapshot is an orphan, and so a child of ours: nobody else can tell how it
 * ended. Of other orphans nobody wants to know. */
static void reap(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (init_is_kept(pid))
            init_say((struct box_word){
                .kind = BOX_ENDED, .pid = pid, .status = status });
}

/* A zombie that its parent has not waited for has ended for our purposes. */
static bool has_ended(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    struct pollfd ended = { .fd = fd, .events = POLLIN };
    bool yes = poll(&ended, 1, 0) == 1;
    close(fd);
    return yes;
}

static unsigned int kill_stray(pid_t pid)
{
    if (pid <= 1 || init_is_kept(pid) || has_ended(pid))
        return 0;
    kill(pid, SIGKILL);
    return 1;
}

/* Without /proc: every number up to the newest one, which a fork tells. Where
 * the strays have used up the limit of processes, no fork works: then a step
 * further in each round, until some have ended. */
static unsigned int kill_numbers(void)
{
    static pid_t highest;
    unsigned int count = 0;
    pid_t newest = fork();
    if (newest == 0)
        _exit(EXIT_SUCCESS);
    if (newest > highest)
        highest = newest;
    if (newest > 0) {
        waitpid(newest, NULL, 0);
    } else {
        highest += STEP;
        count++; /* once more, to be sure */
    }
    for (pid_t pid = 2; pid <= highest; pid++)
        count += kill_stray(pid);
    return count;
}

/* Sends SIGKILL to all but those kept and ourselves; gives how many. */
static unsigned int kill_strays(DIR *proc)
{
    if (!proc)
        return kill_numbers();
    unsigned int count = 0;
    rewinddir(proc);
    for (struct dirent *entry; (entry = readdir(proc));)
        count += kill_stray((pid_t)strtol(entry->d_name, NULL, 10));
    return count;
}

/* In every round: a death may have woken them, as the kernel continues the
 * stopped processes of a process group that becomes orphaned. A process that
 * runs could start new strays for ever. */
static void stop_kept(void)
{
    for (size_t i = 0; i < BOX_KEPT; i++)
        if (kept[i] > 1 && wall_wanted("freeze"))
            kill(kept[i], SIGSTOP);
}

/* Kills all but those kept. A process that is forked meanwhile is found in the
 * next round; the limit on processes bounds how many there can be.
 *
 * A process counts as ended a moment before the kernel tells others of its end,
 * and being told may wake those kept. So a round that found nobody is followed
 * by one more: reap() takes the lock under which the kernel tells, so after it
 * all has been told; then those kept are stopped again, and what they have
 * started meanwhile is found. */
static struct box_word sweep(DIR *proc)
{
    struct box_word word = { .kind = BOX_SWEPT };
    if (getpid() != 1 || !wall_wanted("sweep"))
        return word; /* no box of its own: these would be others' processes */
    bool quiet = false; /* the round before found nobody */
    for (int round = 0; round < MAX_ROUNDS; round++) {
        stop_kept();
        unsigned int count = kill_strays(proc);
        if (count == 0 && quiet)
            return word;
        quiet = count == 0;
        if (round == 0)
            word.count = count;
        if (round >= QUICK_ROUNDS && !quiet)
            usleep(ROUND_US);
        reap();
    }
    word.kind = BOX_STUCK;
    return word;
}

void init_serve(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    DIR *proc = access("/proc/self", F_OK) == 0 ? opendir("/proc") : NULL;
    struct pollfd fds[] = {
        { .fd = BOX_CHANNEL, .events = POLLIN },
        { .fd = children, .events = POLLIN },
    };
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
        if (fds[1].revents) {
            struct signalfd_siginfo info;
            while (read(children, &info, sizeof(info)) > 0)
                ;
            reap();
        }
        if (!fds[0].revents)
            continue;
        struct box_word word;
        if (recv(BOX_CHANNEL, &word, sizeof(word), 0) != sizeof(word))
            _exit(EXIT_SUCCESS);
        memcpy(kept, word.keep, sizeof(kept));
        init_say(sweep(proc));
    }
}
