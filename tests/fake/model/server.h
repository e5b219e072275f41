/* server.h - the practice model's HTTP side: libmicrohttpd on a libuv loop,
 * one thread. */
#ifndef PRACTICE_SERVER_H
#define PRACTICE_SERVER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

#include "counts.h"
#include "kept.h"

struct exchange;

struct server {
    uv_loop_t *loop;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    uv_prepare_t prepare;
    bool due; /* libmicrohttpd has something to do */
    LIST_HEAD(paused, exchange) paused;
    struct counts counts;
    struct kept_list kept;
    json_t *script;  /* NULL: the practice rules only */
    const char *key; /* NULL: every caller is welcome */
    bool everywhere; /* listens on every address, not on loopback alone */
};

/* Port 0: any that is free. Gives the port, 0 when it cannot listen. */
unsigned server_open(struct server *server, uv_loop_t *loop, unsigned port);
void server_close(struct server *server);

/* Takes the script; false, and says why, when it is not one. */
bool server_set_script(struct server *server, json_t *script);

/* After every change that lets a connection go on: it does, soon. */
void server_run(struct server *server);

#endif
