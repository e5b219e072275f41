/* practice.c - a quern-practice-model of our own for a C test. */
#include "tests/unit/model/practice.h"

#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    abort();
}

/* It lies beside the test. */
static void run(const char *script, int out)
{
    char self[PATH_MAX] = "", path[PATH_MAX + 32];

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        die("/proc/self/exe");
    snprintf(path, sizeof(path), "%s/quern-practice-model", dirname(self));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDOUT_FILENO);
    execl(path, path, "--script", script, (char *)NULL);
    die(path);
}

void practice_start(struct practice *practice, const char *script)
{
    int fds[2];
    FILE *said;

    if (pipe(fds) != 0)
        die("pipe");
    practice->pid = fork();
    if (practice->pid == 0)
        run(script, fds[1]);
    close(fds[1]);
    said = fdopen(fds[0], "r");
    if (fscanf(said, "listening on %63s", practice->url) != 1)
        die("quern-practice-model");
    fclose(said);
}

void practice_stop(struct practice *practice)
{
    kill(practice->pid, SIGTERM);
    waitpid(practice->pid, NULL, 0);
}
