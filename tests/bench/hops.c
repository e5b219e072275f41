/* hops.c - what no executor can do without: hops
 *
 * Three processes stand in for caller, executor and interpreter. A byte goes
 * from the first to the second and the third, which was stopped and is
 * continued, and back: four times somebody is woken. Reads "N PAUSE_MS" a line,
 * prints N times in ms as JSON. */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void pass(int fd)
{
    if (write(fd, "x", 1) != 1)
        _exit(EXIT_FAILURE);
}

static void take(int fd)
{
    char byte;

    if (read(fd, &byte, 1) != 1)
        _exit(EXIT_FAILURE);
}

/* Gives the end to talk to it by; it answers each byte, or does what is given
 * instead. */
static int start(void (*serve)(int fd), pid_t *pid)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        err(EXIT_FAILURE, "socketpair");
    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        for (;;)
            serve(pair[1]);
    }
    close(pair[1]);
    return pair[0];
}

static void answer(int fd)
{
    take(fd);
    pass(fd);
}

static void stand_between(int fd)
{
    pid_t interpreter;
    int its = start(answer, &interpreter);

    kill(interpreter, SIGSTOP);
    for (;;) {
        take(fd);
        pass(its);
        kill(interpreter, SIGCONT);
        take(its);
        kill(interpreter, SIGSTOP);
        pass(fd);
    }
}

int main(void)
{
    char line[64];
    char *rest;
    pid_t pid;
    int executor = start(stand_between, &pid);

    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        long count = strtol(line, &rest, 10);
        double pause_ms = strtod(rest, NULL);
        for (long i = 0; i < count; i++) {
            usleep((useconds_t)(pause_ms * 1e3));
            double start_ms = now_ms();
            pass(executor);
            take(executor);
            printf("%s%.4f", i ? "," : "[", now_ms() - start_ms);
        }
        puts("]");
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
