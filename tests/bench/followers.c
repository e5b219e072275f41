/* followers.c - very many clients that follow jobs at a gateway, in one
 * process.
 *
 *   bench-followers PORT < paths
 *
 * Opens a connection for each line ("/v1/jobs/<id>/events"), and says "ready"
 * when each has seen its job start. From then on it keeps, for each event that
 * comes, the milliseconds from when Redis took it, which the event says ("at"),
 * to when it was here. A line "report" prints them as JSON and forgets them. */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST = 20000,
    READ_BYTES = 64 << 10,
    TAIL_BYTES = 32, /* of what was read before: an "at" may be cut in two */
    MOST_DELAYS = 4 << 20,
    AT_DIGITS = 13,
};

struct follower {
    int fd;
    bool begun;
    char tail[TAIL_BYTES + 1];
};

static struct follower followers[MOST];
static double *delays;
static size_t count, begun, delay_count;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        err(EXIT_FAILURE, "connection %zu", count);
    return fd;
}

static void open_all(int epoll, uint16_t port)
{
    char path[256], request[512];

    while (fgets(path, sizeof(path), stdin) && path[0] == '/') {
        struct follower *one = &followers[count];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = one };
        int len = snprintf(request, sizeof(request),
                           "GET %.*s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
                           (int)strcspn(path, "\n"), path);

        if (count == MOST)
            errx(EXIT_FAILURE, "more than %d followers", MOST);
        one->fd = connect_to(port);
        if (write(one->fd, request, (size_t)len) != len ||
            epoll_ctl(epoll, EPOLL_CTL_ADD, one->fd, &event) < 0)
            err(EXIT_FAILURE, "follower %zu", count);
        count++;
    }
}

/* Whole numbers only: one that is cut off comes again with the next read. */
static const char *take_delay(const char *text, double seen_ms)
{
    const char *at = strstr(text, "\"at\":");
    char *end;
    double taken_ms;

    if (!at)
        return NULL;
    taken_ms = (double)strtoull(at + 5, &end, 10);
    if (end - (at + 5) < AT_DIGITS)
        return NULL;
    if (delay_count < MOST_DELAYS)
        delays[delay_count++] = seen_ms - taken_ms;
    return end;
}

static void read_from(struct follower *one)
{
    static char text[TAIL_BYTES + READ_BYTES + 1];
    size_t kept = strlen(one->tail);
    const char *at = text, *next;
    ssize_t got;

    memcpy(text, one->tail, kept);
    got = read(one->fd, text + kept, READ_BYTES);
    if (got <= 0)
        err(EXIT_FAILURE, "a stream ended");
    text[kept + (size_t)got] = '\0';
    if (!one->begun && strstr(text, "event: job.started")) {
        one->begun = true;
        begun++;
    }
    while ((next = take_delay(at, now_ms())))
        at = next;
    kept = strlen(at) < TAIL_BYTES ? strlen(at) : TAIL_BYTES;
    memcpy(one->tail, at + strlen(at) - kept, kept + 1);
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

static double share_of(size_t per_cent)
{
    return delay_count > 0 ? delays[(delay_count - 1) * per_cent / 100] : 0;
}

static void report(void)
{
    qsort(delays, delay_count, sizeof(*delays), compare);
    printf("{\"events\":%zu,\"p50\":%.2f,\"p99\":%.2f,\"max\":%.2f}\n",
           delay_count, share_of(50), share_of(99), share_of(100));
    fflush(stdout);
    delay_count = 0;
}

static void follow(int epoll)
{
    struct epoll_event events[256];
    char line[64];
    bool said = false;

    for (;;) {
        int ready = epoll_wait(epoll, events, 256, -1);

        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr)
                read_from(events[i].data.ptr);
            else if (fgets(line, sizeof(line), stdin))
                report();
            else
                return;
        }
        if (ready < 0 && errno != EINTR)
            err(EXIT_FAILURE, "epoll_wait");
        if (begun == count && !said) {
            delay_count = 0;
            said = puts("ready") >= 0 && fflush(stdout) == 0;
        }
    }
}

int main(int argc, char **argv)
{
    struct epoll_event input = { .events = EPOLLIN };
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    setvbuf(stdin, NULL, _IONBF, 0);
    delays = malloc(MOST_DELAYS * sizeof(*delays));
    if (argc != 2 || epoll < 0 || !delays)
        errx(EXIT_FAILURE, "usage: bench-followers PORT < paths");
    open_all(epoll, (uint16_t)strtoul(argv[1], NULL, 10));
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input) < 0)
        err(EXIT_FAILURE, "standard input");
    follow(epoll);
    return EXIT_SUCCESS;
}
