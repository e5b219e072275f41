/* cells.c - what a caller of the executor waits for: cells new|warm SOCKET
 *
 * Reads "N PAUSE_MS" a line, runs N cells with that pause before each, and
 * prints their milliseconds as JSON. new: each in a session of its own, which
 * is made for it. warm: all in one. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "schemas/message/frame.h"
#include "schemas/message/limits.h"

static struct {
    int fd;
    uint64_t ref, sessions;
    char session[64];
} caller;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void sleep_ms(double pause_ms)
{
    long ns = (long)(pause_ms * 1e6);
    struct timespec left = { ns / 1000000000, ns % 1000000000 };

    while (pause_ms > 0 && nanosleep(&left, &left) < 0)
        ;
}

static void send_frame(struct frame frame)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct err why;

    buf_init(&bytes, MAX_FRAME_BYTES);
    frame.ref = ++caller.ref;
    frame.session = view_of(caller.session);
    if (!frame_encode(&schema_frame, &frame, &bytes, &why))
        errx(EXIT_FAILURE, "%s", why.text);
    if (send(caller.fd, bytes.data, bytes.len, 0) != (ssize_t)bytes.len)
        err(EXIT_FAILURE, "send");
}

static void receive(char *bytes, size_t size)
{
    if (recv(caller.fd, bytes, size, MSG_WAITALL) != (ssize_t)size)
        errx(EXIT_FAILURE, "the executor is gone");
}

/* Passes over what else it says of that request. */
static void await(enum frame_type type)
{
    static char bytes[MAX_FRAME_BYTES + FRAME_HEADER_BYTES];
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct frame frame = { .type = FRAME_FAILED };
    struct err why;
    size_t total;

    do {
        receive(bytes, FRAME_HEADER_BYTES);
        if (!frame_length((struct view){ bytes, FRAME_HEADER_BYTES },
                          MAX_FRAME_BYTES, &total, &why))
            errx(EXIT_FAILURE, "%s", why.text);
        size_t len = total - FRAME_HEADER_BYTES;
        receive(bytes, len);
        if (!message_decode(&schema_frame, (struct view){ bytes, len }, &frame,
                            &arena, &why))
            errx(EXIT_FAILURE, "%s", why.text);
        if (frame.type == FRAME_FAILED)
            errx(EXIT_FAILURE, "%.*s", VIEW_ARG(frame.error.message));
    } while (frame.type != (int)type);
    if (type == FRAME_DONE && frame.cell.status != CELL_OK)
        errx(EXIT_FAILURE, "a cell ended %s",
             cell_status_names[frame.cell.status]);
}

static void open_session(void)
{
    snprintf(caller.session, sizeof(caller.session), "cells-%ld-%llu",
             (long)getpid(), (unsigned long long)++caller.sessions);
    send_frame((struct frame){ .type = FRAME_OPEN });
    await(FRAME_OPENED);
}

static void close_session(void)
{
    send_frame((struct frame){ .type = FRAME_CLOSE });
    await(FRAME_OK);
}

static void run(const char *code)
{
    char call[32];

    snprintf(call, sizeof(call), "%llu", (unsigned long long)caller.ref);
    send_frame((struct frame){
        .type = FRAME_RUN, .call = view_of(call), .code = view_of(code) });
    await(FRAME_DONE);
}

static double one_new(void)
{
    double start_ms = now_ms();

    open_session();
    run("1+1");
    double taken_ms = now_ms() - start_ms;
    close_session();
    return taken_ms;
}

static double one_warm(void)
{
    double start_ms = now_ms();

    run("x=1+1");
    return now_ms() - start_ms;
}

static void connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    caller.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(caller.fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        err(EXIT_FAILURE, "%s", path);
    send_frame((struct frame){ .type = FRAME_HELLO });
    await(FRAME_WELCOME);
}

int main(int argc, char **argv)
{
    bool warm = argc > 1 && strcmp(argv[1], "warm") == 0;
    double pause_ms;
    char line[64];
    char *rest;

    if (argc != 3)
        errx(EXIT_FAILURE, "usage: cells new|warm SOCKET");
    connect_to(argv[2]);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        long count = strtol(line, &rest, 10);
        pause_ms = strtod(rest, NULL);
        if (warm) {
            open_session();
            one_warm();
        }
        for (long i = 0; i < count; i++) {
            sleep_ms(pause_ms);
            printf("%s%.4f", i ? "," : "[", warm ? one_warm() : one_new());
        }
        if (warm)
            close_session();
        puts("]");
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
