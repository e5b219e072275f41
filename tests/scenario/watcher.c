/* watcher.c - follows the jobs whose ids come on stdin, by one quern_watch, and
 * tells what that gives, a line each, to a test:
 *
 *   JOB event SEQ BYTES     in hexadecimal
 *   JOB gap FROM TO
 *   JOB broken CODE         "-" for JOB: all of them
 *   - away                  it has lost Redis
 *
 * watcher [EVERY PAUSE_MS]: after so many events it sleeps. "drop JOB" on stdin
 * drops one. It ends when stdin has and no job is left. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "producer/client/quern.h"

enum { LOOK_MS = 20 };

struct input {
    char text[1 << 16];
    size_t len;
    bool over;
};

static void add_line(struct quern_watch *watch, const char *line)
{
    struct quern_error error;

    if (strncmp(line, "drop ", 5) == 0)
        quern_watch_drop(watch, line + 5);
    else if (!quern_watch_add(watch, line, 0, &error))
        printf("%s broken %s\n", line, error.code);
}

static void read_input(struct input *input, struct quern_watch *watch,
                       int wait_ms)
{
    struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
    char *end;
    ssize_t got;

    if (input->over || poll(&fd, 1, wait_ms) <= 0)
        return;
    got = read(STDIN_FILENO, input->text + input->len,
               sizeof(input->text) - input->len);
    input->over = got <= 0;
    if (got > 0)
        input->len += (size_t)got;
    while ((end = memchr(input->text, '\n', input->len))) {
        *end = '\0';
        add_line(watch, input->text);
        input->len -= (size_t)(end + 1 - input->text);
        memmove(input->text, end + 1, input->len);
    }
}

static void tell(const struct quern_event *event)
{
    const unsigned char *bytes = event->bytes;

    printf("%s event %llu ", event->job, (unsigned long long)event->seq);
    for (size_t i = 0; i < event->size; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

static void tell_trouble(const struct quern_watch *watch, bool *away)
{
    bool now = quern_watch_trouble(watch);

    if (now && !*away)
        printf("- away\n");
    *away = now;
}

int main(int argc, char **argv)
{
    static struct input input;
    int every = argc == 3 ? atoi(argv[1]) : 0, count = 0;
    long pause_ms = argc == 3 ? atol(argv[2]) : 0;
    const struct timespec pause = { pause_ms / 1000,
                                    pause_ms % 1000 * 1000000 };
    struct quern *quern = quern_open(NULL, NULL);
    struct quern_watch *watch =
        quern ? quern_watch_open(quern, NULL, 0, NULL) : NULL;
    enum quern_next next = QUERN_END;
    bool away = false;

    if (!watch)
        return 1;
    while (!input.over || next != QUERN_END) {
        struct quern_error error;
        struct quern_event event;

        read_input(&input, watch, next == QUERN_END ? LOOK_MS : 0);
        next = quern_watch_next(watch, &event, LOOK_MS, &error);
        if (next == QUERN_EVENT)
            tell(&event);
        else if (next == QUERN_GAP)
            printf("%s gap %llu %llu\n", event.job,
                   (unsigned long long)event.from,
                   (unsigned long long)event.seq);
        else if (next == QUERN_BROKEN)
            printf("%s broken %s\n", event.job ? event.job : "-", error.code);
        if (next == QUERN_BROKEN && !event.job)
            break;
        tell_trouble(watch, &away);
        fflush(stdout);
        if (next == QUERN_EVENT && every > 0 && ++count % every == 0)
            nanosleep(&pause, NULL);
    }
    quern_watch_close(watch);
    quern_close(quern);
    return 0;
}
