/* http_multi.h - curl's multi handle driven by a libuv loop: sockets and the
 * one timer. Knows nothing of what is transferred. */
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
    unsigned handles; /* libuv's, that are not closed yet */
    bool busy;        /* inside curl: handles must not be added or removed */
    uint64_t steps;   /* into curl: it comes back late from one that is busy */
    void (*on_step)(void *owner); /* curl did something; not from inside it */
    void (*on_closed)(void *owner);
    void *owner;
};

/* False: curl cannot start. */
bool http_multi_open(struct http_multi *multi, uv_loop_t *loop,
                     void (*on_step)(void *owner), void *owner);

/* Lets a transfer go on that a write callback has paused: a step of its own. */
void http_multi_resume(struct http_multi *multi, CURL *easy);

/* When all easy handles are removed; on_closed comes from the loop. */
void http_multi_close(struct http_multi *multi, void (*on_closed)(void *owner));

#endif
