/* pass.c - bytes from one side of a link to the other.
 *
 * More is read from a side when what it sent has been written: nothing piles
 * up. link_listen() decides anew what is read, after everything that happens.
 */
#include "executor/proxy/link_steps.h"

/* The side is not busy, or it would not be read: its buffer is free. */
static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *bytes)
{
    struct side *side = handle->data;
    (void)suggested;
    *bytes = uv_buf_init(side->bytes, sizeof(side->bytes));
}

static void on_written(uv_write_t *write, int status)
{
    struct side *side = write->data;
    struct proxy_link *link = side->link;
    side->busy = false;
    if (status < 0)
        link_end(link);
    link_listen(link);
    link_release(link);
}

void side_pass(struct side *side, struct view bytes)
{
    struct proxy_link *link = side->link;
    /* libuv does not write there. NOLINTNEXTLINE(performance-no-int-to-ptr) */
    char *data = (char *)(uintptr_t)bytes.data;
    uv_buf_t part = uv_buf_init(data, (unsigned int)bytes.len);
    side->busy = true;
    link->pending++;
    if (uv_write(&side->write, (uv_stream_t *)&side->other->tcp, &part, 1,
                 on_written) == 0)
        return;
    side->busy = false;
    link_end(link);
    link_release(link);
}

static void on_shut(uv_shutdown_t *shutdown, int status)
{
    struct side *side = shutdown->data;
    (void)status;
    link_release(side->link);
}

void side_shut(struct side *side)
{
    side->link->pending++;
    if (uv_shutdown(&side->shutdown, (uv_stream_t *)&side->tcp, on_shut) < 0)
        side->link->pending--;
}

/* A plain request ends with its response; a tunnel when both have ended. Until
 * then the other side may go on, as TCP lets it. */
static void take_end(struct side *side)
{
    struct proxy_link *link = side->link;
    side->ended = true;
    if (side == &link->client && !link->request.tunnel) {
        link_end(link); /* in the middle of its body */
        return;
    }
    side_shut(side->other);
    if (!link->request.tunnel)
        machine_go(&link->machine, LINGERING);
    else if (side->other->ended)
        link_end(link);
}

/* All that comes is counted, also what is dropped: a session that sends into
 * links that were refused uses up its own traffic. */
static void take_bytes(struct side *side, size_t count)
{
    struct proxy_link *link = side->link;
    struct view bytes = { side->bytes, count };
    door_count(link->door, count);
    if (link->machine.state == READING) {
        link_take_head(link, bytes);
        return;
    }
    if (link->machine.state != PASSING)
        return; /* lingering: dropped */
    if (door_is_used_up(link->door)) {
        link_log(link, "proxy.cut", "the session has no bytes left");
        link_end(link);
        return;
    }
    if (side == &link->client && !link->request.tunnel) {
        if (bytes.len > link->body_left)
            /* One request, no more: a second one behind the body would reach
             * the host without having been looked at. */
            bytes.len = (size_t)link->body_left;
        link->body_left -= bytes.len;
    }
    link_prolong(link);
    if (bytes.len > 0)
        side_pass(side, bytes);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *room)
{
    struct side *side = stream->data;
    struct proxy_link *link = side->link;
    (void)room;
    if (count > 0)
        take_bytes(side, (size_t)count);
    else if (count == UV_EOF && link->machine.state == PASSING)
        take_end(side);
    else if (count < 0)
        link_end(link);
    link_listen(link);
}

/* While a link waits, resolves or connects, nobody is read: what the client
 * sends meanwhile stays in the kernel. */
static bool wants(const struct proxy_link *link, const struct side *side)
{
    bool client = side == &link->client;
    if (!side->open || side->ended || side->busy || !door_is_wide(link->door))
        return false;
    if (link->machine.state == PASSING)
        return !client || link->request.tunnel || link->body_left > 0;
    return client &&
           (link->machine.state == READING || link->machine.state == LINGERING);
}

void link_listen(struct proxy_link *link)
{
    struct side *sides[] = { &link->client, &link->server };
    if (link->machine.state == ENDED)
        return;
    for (size_t i = 0; i < 2; i++) {
        bool wanted = wants(link, sides[i]);
        uv_stream_t *stream = (uv_stream_t *)&sides[i]->tcp;
        if (wanted && !sides[i]->reading)
            uv_read_start(stream, on_room, on_read);
        else if (!wanted && sides[i]->reading)
            uv_read_stop(stream);
        sides[i]->reading = wanted;
    }
}
