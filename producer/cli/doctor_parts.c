/* doctor_parts.c - runs the parts of quern doctor at the same time, each in a
 * process of its own that is ended when its time is up. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "producer/cli/doctor.h"

/* The executor's check tries each wall, which takes seconds on a busy host. */
static const struct {
    uint64_t ms;
    const char *check; /* that is told when it does not end */
    const char *remedy;
    enum level level;
} bounds[PARTS] = {
    [PART_FLEET] = { 15000, "redis",
                     "look at the network between this host and Redis; name "
                     "servers, too",
                     FAULT },
    [PART_EXECUTOR] = { 25000, "executor", "run quern-executor --check",
                        WARNING },
    [PART_MODEL] = { 10000, "model", "look at this host's name servers",
                     WARNING },
    [PART_FILES] = { 10000, "settings", "look at the disk of /etc/quern",
                     WARNING },
    [PART_HOST] = { 10000, "disk", "look for a disk that does not answer",
                    WARNING },
};

struct part_run {
    pid_t pid;
    int alive;   /* end of a pipe that the process holds open until it ends */
    FILE *found; /* what it has printed */
};

/* The child's standard output is a file in memory; its exit status is the worst
 * level. Being a process group of its own, it can be ended with all that it has
 * started. */
static void part_start(struct doctor *doctor, enum doctor_part part,
                       struct part_run *run)
{
    pid_t parent = getpid();
    int found = memfd_create("found", MFD_CLOEXEC), pipes[2];

    /* Not on a disk: it may be full. */
    run->found = found < 0 ? NULL : fdopen(found, "w+");
    if (!run->found || pipe2(pipes, O_CLOEXEC) < 0)
        abort();
    fflush(NULL);
    run->pid = fork();
    if (run->pid < 0)
        abort();
    run->alive = pipes[0];
    if (run->pid > 0) {
        close(pipes[1]);
        return;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(fileno(run->found), STDOUT_FILENO) < 0)
        _exit(FINE);
    if (part == PART_FLEET)
        check_fleet(doctor);
    else
        doctor_run(doctor, part);
    fflush(NULL);
    _exit((int)doctor->worst);
}

static uint64_t parts_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int part_wait_ms(uint64_t ms)
{
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* False: it has not ended in time. */
static bool part_wait(struct part_run *run, uint64_t end_ms)
{
    struct pollfd fd = { .fd = run->alive, .events = POLLIN };
    int ready;

    do {
        uint64_t now = parts_now_ms();
        ready = poll(&fd, 1, now < end_ms ? part_wait_ms(end_ms - now) : 0);
    } while (ready < 0 && errno == EINTR);
    return ready != 0;
}

static void part_print(struct part_run *run)
{
    char piece[4096];
    size_t len;

    rewind(run->found);
    while ((len = fread(piece, 1, sizeof(piece), run->found)) > 0)
        fwrite(piece, 1, len, stdout);
    fclose(run->found);
}

static void part_end(struct doctor *doctor, enum doctor_part part,
                     struct part_run *run, uint64_t begin_ms)
{
    uint64_t asked_ms = doctor->app->options.follow.timeout_ms;
    uint64_t ms = asked_ms > 0 ? asked_ms : bounds[part].ms;
    bool ended = part_wait(run, begin_ms + ms);
    int status = 0;

    if (!ended)
        kill(-run->pid, SIGKILL);
    while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(run->alive);
    part_print(run);
    if (WIFEXITED(status) && WEXITSTATUS(status) > (int)doctor->worst)
        doctor->worst = (enum level)WEXITSTATUS(status);
    if (!ended)
        find(doctor, bounds[part].level, bounds[part].check,
             bounds[part].remedy,
             "the check was not done within %s, and was ended", term_time(ms));
    else if (!WIFEXITED(status))
        find(doctor, UNSEEN, bounds[part].check, NULL,
             "the check itself has failed (signal %d)", WTERMSIG(status));
}

void doctor_run_parts(struct doctor *doctor)
{
    int end = doctor->app->options.fleet ? PART_FLEET + 1 : PARTS;
    struct part_run runs[PARTS];
    uint64_t begin_ms = parts_now_ms();

    for (int part = PART_FLEET; part < end; part++)
        part_start(doctor, (enum doctor_part)part, &runs[part]);
    for (int part = PART_FLEET; part < end; part++)
        part_end(doctor, (enum doctor_part)part, &runs[part], begin_ms);
}
