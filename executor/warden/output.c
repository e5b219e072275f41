/* output.c - what a session writes to stdout or stderr: a pipe, drained. */
#include "executor/warden/output.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "executor/box/walls.h"

enum { READ_BYTES = 64 << 10 }; /* what a pipe holds, as the kernel makes it */

/* Into the ring; bytes are already counted in written. */
static void keep_end(struct output_pipe *output, struct view bytes)
{
    uint64_t start = output->written - bytes.len;
    size_t skip =
        bytes.len > OUTPUT_END_BYTES ? bytes.len - OUTPUT_END_BYTES : 0;
    if (!output->end)
        output->end = allocate(OUTPUT_END_BYTES);
    for (size_t at = skip, len; at < bytes.len; at += len) {
        size_t to = (start + at) % OUTPUT_END_BYTES;
        len = OUTPUT_END_BYTES - to;
        if (len > bytes.len - at)
            len = bytes.len - at;
        memcpy(output->end + to, bytes.data + at, len);
    }
}

static void output_pass_on(struct output_pipe *output, struct view bytes)
{
    size_t most = wall_wanted("bounds") ? OUTPUT_MAX_BYTES : SIZE_MAX;
    size_t room = output->written < most ? most - (size_t)output->written : 0;
    size_t now = bytes.len < room ? bytes.len : room;
    struct view rest = { bytes.data + now, bytes.len - now };
    if (now > 0)
        output->on_bytes(output->owner, output->stream, output->written,
                         (struct view){ bytes.data, now });
    output->written += bytes.len;
    if (rest.len > 0)
        keep_end(output, rest);
}

/* One read. Gives how many bytes came. */
static size_t read_some(struct output_pipe *output, bool drop)
{
    char bytes[READ_BYTES];
    ssize_t got = read(watch_fd(output->pipe), bytes, sizeof(bytes));
    if (got <= 0) {
        if (got == 0)
            watch_want(output->pipe, 0); /* nobody has it open any more */
        return 0;
    }
    if (!drop)
        output_pass_on(output, (struct view){ bytes, (size_t)got });
    return (size_t)got;
}

static void on_readable(void *owner, int events)
{
    (void)events;
    read_some(owner, false);
}

void output_init(struct output_pipe *output, uv_loop_t *loop, int fd,
                 struct view stream, output_bytes *on_bytes, void *owner)
{
    output->pipe = watch_new(loop, fd, on_readable, output);
    output->stream = stream;
    output->on_bytes = on_bytes;
    output->owner = owner;
}

void output_finish(struct output_pipe *output)
{
    watch_free(output->pipe);
    output->pipe = NULL;
    free(output->end);
    output->end = NULL;
}

void output_listen(struct output_pipe *output, bool on)
{
    watch_want(output->pipe, on ? UV_READABLE : 0);
}

/* Reads what is in the pipe now (code may have made it larger), and no more:
 * code that never stops writing must not hold us here. */
static void empty(struct output_pipe *output, bool drop)
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

void output_drain(struct output_pipe *output)
{
    empty(output, false);
}

void output_tell_end(struct output_pipe *output)
{
    char bytes[OUTPUT_END_BYTES];
    uint64_t beyond = output->written - OUTPUT_MAX_BYTES;
    if (!output->end)
        return;
    size_t len = beyond < sizeof(bytes) ? (size_t)beyond : sizeof(bytes);
    uint64_t offset = output->written - len;
    for (size_t i = 0; i < len; i++)
        bytes[i] = output->end[(offset + i) % OUTPUT_END_BYTES];
    free(output->end);
    output->end = NULL;
    output->on_bytes(output->owner, output->stream, offset,
                     (struct view){ bytes, len });
}

void output_restart(struct output_pipe *output)
{
    empty(output, true);
    free(output->end);
    output->end = NULL;
    output->written = 0;
}
