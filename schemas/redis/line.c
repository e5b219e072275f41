/* line.c - a wire on a libuv loop: opened, watched, pumped, closed. */
#include "schemas/redis/line.h"

#include <stdlib.h>

#include "schemas/redis/wire.h"

void line_init(struct line *line, uv_loop_t *loop, void (*stirred)(void *owner),
               void (*closed)(void *owner), void *owner)
{
    *line = (struct line){
        .loop = loop, .stirred = stirred, .closed = closed, .owner = owner
    };
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct line *line = poll->data;

    /* A refused connection is an error of the handle (and libuv stops it): the
     * socket itself tells what happened to whoever uses it. */
    line->seen |= status < 0 ? UV_READABLE | UV_WRITABLE : events;
    if (status < 0)
        line->polled = 0;
    line->stirred(line->owner);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct line *line = handle->data;

    free(handle);
    line->closed(line->owner);
}

static bool watch(struct line *line, int events, struct err *err)
{
    if (line->polled == events)
        return true;
    int failed = uv_poll_start(line->poll, events, on_poll);
    if (failed)
        return err_set(err, ERR_RETRY, "redis_unavailable", "poll: %s",
                       uv_strerror(failed));
    line->polled = events;
    return true;
}

bool line_open(struct line *line, const struct address *address,
               const struct node *node, const char *ip, bool *held,
               struct err *err)
{
    *held = false;
    line->wire = wire_open(address, node, ip, err);
    if (!line->wire)
        return false;
    uv_poll_t *poll = calloc(1, sizeof(*poll));
    if (!poll)
        abort();
    int failed = uv_poll_init(line->loop, poll, line->wire->fd);
    if (failed) {
        free(poll);
        return err_set(err, ERR_RETRY, "redis_unavailable", "poll: %s",
                       uv_strerror(failed));
    }
    poll->data = line;
    line->poll = poll;
    *held = true;
    /* A socket that connects becomes writable when it has, or has failed. */
    return watch(line, UV_WRITABLE, err);
}

bool line_pump(struct line *line, struct err *err)
{
    bool readable = line->seen & UV_READABLE;
    bool done = false;

    line->seen = 0;
    return (!readable || wire_fill(line->wire, err)) &&
           wire_flush(line->wire, &done, err) &&
           watch(line, done ? UV_READABLE : UV_READABLE | UV_WRITABLE, err);
}

void line_close(struct line *line)
{
    /* The handle first: libuv must not watch a closed descriptor. */
    if (line->poll) {
        uv_poll_stop(line->poll);
        uv_close((uv_handle_t *)line->poll, on_poll_closed);
    }
    if (line->wire)
        redisFree(line->wire);
    line->poll = NULL;
    line->wire = NULL;
    line->polled = 0;
    line->seen = 0;
}
