/* listener.h - a small HTTP server for those who watch a process.
 *
 *   GET /metrics   its numbers, for Prometheus
 *   GET /livez     200 when its loop runs: it answers, so it does
 *   GET /readyz    200 when it does its work, or could; else 503 and a sentence
 *
 * libmicrohttpd on the program's libuv loop, one thread. It serves at most 8
 * connections at once, each for 10 s without a byte, so one that hangs costs
 * little and stops nothing. Who reaches the place may read: it has no keys. */
#ifndef SCHEMAS_METRICS_LISTENER_H
#define SCHEMAS_METRICS_LISTENER_H

#include <uv.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

struct listener;

struct listener_pages {
    /* Appends text of the format 0.0.4. */
    void (*write_metrics)(void *owner, struct buf *out);
    /* False, and why not as a sentence. */
    bool (*is_ready)(void *owner, struct buf *why);
    void *owner;
};

enum { LISTENER_MOST_BYTES = 4 << 20 }; /* of one answer */

/* place: as listen_place.h reads it. A unix socket that nobody listens at any
 * more is replaced. Error: cannot_listen, a sentence that names the place. */
struct listener *listener_open(uv_loop_t *loop, const char *place,
                               const struct listener_pages *pages,
                               struct err *err);
/* Where it listens: a port of its own choice when the place says 0. */
unsigned int listener_port(const struct listener *listener);
void listener_close(struct listener *listener); /* accepts NULL */

#endif
