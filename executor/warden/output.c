/* output.c - what a session writes to stdout or stderr: a pipe, drained. */
#include "executor/warden/output.h"

#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "executor/box/walls.h"

enum { READ_BYTES = 64 << 10 }; /* a pipe, as the kernel makes them */

/* One read. Gives how many bytes came. */
static size_t read_some(struct output *output, bool drop)
{
    char bytes[READ_BYTES];
    ssize_t got = read(watch_fd(output->pipe), bytes, sizeof(bytes));
    if (got <= 0) {
        if (got == 0)
            watch_want(output->pipe, 0); /* nobody has it open any more */
        return 0;
    }
    size_t len = (size_t)got;
    uint64_t before = output->written;
    if (!drop)
        output->written += len;
    size_t most = wall_wanted("bounds") ? OUTPUT_MAX_BYTES : SIZE_MAX;
    if (!drop && before < most) {
        size_t room = most - (size_t)before;
        struct view view = { bytes, len < room ? len : room };
        output->on_bytes(output->owner, output->stream, view);
    }
    return len;
}

static void on_readable(void *owner, int events)
{
    (void)events;
    read_some(owner, false);
}

void output_init(struct output *output, uv_loop_t *loop, int fd,
                 struct view stream,
                 void (*on_bytes)(void *owner, struct view stream,
                                  struct view bytes),
                 void *owner)
{
    output->pipe = watch_new(loop, fd, on_readable, output);
    output->stream = stream;
    output->on_bytes = on_bytes;
    output->owner = owner;
}

void output_finish(struct output *output)
{
    watch_free(output->pipe);
    output->pipe = NULL;
}

void output_listen(struct output *output, bool on)
{
    watch_want(output->pipe, on ? UV_READABLE : 0);
}

/* What is there now; code may have made its pipe larger. */
static void empty(struct output *output, bool drop)
{
    int there = 0;
    if (ioctl(watch_fd(output->pipe), FIONREAD, &there) < 0)
        return;
    for (size_t left = (size_t)there, got; left > 0; left -= got) {
        got = read_some(output, drop);
        if (got == 0 || got > left)
            return;
    }
}

void output_drain(struct output *output)
{
    empty(output, false);
}

void output_restart(struct output *output)
{
    empty(output, true);
    output->written = 0;
}
