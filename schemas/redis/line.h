/* line.h - a wire (wire.h) on a libuv loop: opened, watched, pumped, closed.
 *
 * The poll handle is on the heap and belongs to one connection, because libuv
 * closes a handle only some time after uv_close(), when the next connection may
 * need its own. So a line that was closed may be opened again at once; closed()
 * says when a handle is gone. The owner, and the struct line in it, must exist
 * until the last closed(). Only link.c uses it. */
#ifndef SCHEMAS_REDIS_LINE_H
#define SCHEMAS_REDIS_LINE_H

#include <hiredis/hiredis.h>
#include <uv.h>

#include "schemas/redis/address.h"

struct line {
    redisContext *wire; /* NULL: not open */
    int seen;           /* UV_READABLE, UV_WRITABLE, since the last pump */

    uv_loop_t *loop;
    uv_poll_t *poll;
    int polled;                   /* what poll waits for */
    void (*stirred)(void *owner); /* seen has changed */
    void (*closed)(void *owner);  /* once for each line_open() that set *held */
    void *owner;
};

void line_init(struct line *line, uv_loop_t *loop, void (*stirred)(void *owner),
               void (*closed)(void *owner), void *owner);
/* As wire_open(); stirred() is called when the connection is made or has
 * failed. *held: closed() will be called, also when line_open() itself fails;
 * either way call line_close(). */
bool line_open(struct line *line, const struct address *address,
               const struct node *node, const char *ip, bool *held,
               struct err *err);
/* Reads when the socket is readable, writes what there is to write, and watches
 * for writability only as long as something is left. */
bool line_pump(struct line *line, struct err *err);
void line_close(struct line *line);

#endif
