/* http_multi.h - a libuv loop drives curl's multi handle: it watches the
 * sockets and one timer. http.c adds the easy handles, one for each request.
 *
 * curl calls back in the middle of its own work, where handles must be neither
 * added nor removed. So http.c does that in on_step(), after each step. */
#ifndef CONSUMER_HTTP_MULTI_H
#define CONSUMER_HTTP_MULTI_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct http_multi {
    CURLM *curl;
    uv_loop_t *loop;
    uv_timer_t timer;
    unsigned handles; /* of libuv that are not closed yet */
    bool busy;        /* inside curl: no handle may be added or removed */
    uint64_t steps;   /* calls into curl so far: names the one that runs */
    void (*on_step)(void *owner); /* after each of them, outside of curl */
    void (*on_closed)(void *owner);
    void *owner;
};

/* False: curl cannot start. */
bool http_multi_open(struct http_multi *multi, uv_loop_t *loop,
                     void (*on_step)(void *owner), void *owner);

/* Goes on with a transfer that its write callback has paused. It counts as a
 * step. */
void http_multi_resume(struct http_multi *multi, CURL *easy);

/* All easy handles must have been removed. on_closed comes from the loop. */
void http_multi_close(struct http_multi *multi, void (*on_closed)(void *owner));

#endif
