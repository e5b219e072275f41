/* line.h - a wire (wire.h) on a libuv loop: opened, watched, pumped, closed.
 *
 * The poll handle is on the heap and belongs to one connection: libuv gives it
 * back later than the next connection needs its own. So a line that was closed
 * may be opened again at once; closed() tells when the handle is gone. */
#ifndef SCHEMAS_REDIS_LINE_H
#define SCHEMAS_REDIS_LINE_H

#include <hiredis/hiredis.h>
#include <uv.h>

#include "schemas/redis/address.h"

struct line {
    redisContext *wire; /* NULL: not open */
    int seen;           /* UV_READABLE, UV_WRITABLE: since the last pump */

    uv_loop_t *loop;
    uv_poll_t *poll;
    int polled; /* what poll waits for */
    void (*stirred)(void *owner);
    void (*closed)(void *owner); /* once for each line_open() that succeeded */
    void *owner;
};

void line_init(struct line *line, uv_loop_t *loop, void (*stirred)(void *owner),
               void (*closed)(void *owner), void *owner);
/* As wire_open(); stirred when that has come to an end. *held: closed() will
 * come, also when it failed. */
bool line_open(struct line *line, const struct address *address,
               const struct node *node, const char *ip, bool *held,
               struct err *err);
/* Reads when there is something, writes what there is. */
bool line_pump(struct line *line, struct err *err);
void line_close(struct line *line);

#endif
