/* http.h - HTTP requests on a libuv loop: curl's multi interface.
 *
 * One struct http per loop keeps the connections, HTTP/2 where it is offered.
 * A call is reported once, from the loop, never from inside http_start().
 * Every wait has its bound: connecting, the first byte of the body, the next
 * payload, the whole. Redirects are not followed; only http and https. */
#ifndef CONSUMER_HTTP_H
#define CONSUMER_HTTP_H

#include <uv.h>

#include "schemas/message/view.h"

struct http;
struct http_call;

/* How a call ended: what may have happened on the other side. */
enum http_end {
    HTTP_ANSWERED, /* whole; see status */
    HTTP_NOT_SENT, /* provably never taken: name, connection, TLS */
    HTTP_BROKEN,   /* sent, then the connection went away or spoke nonsense */
    HTTP_TIMEOUT,  /* sent, and no answer or the rest of it in time */
    HTTP_TOO_LARGE,
    HTTP_ENOUGH, /* the owner wanted no more */
};

struct http_request {
    const char *url;
    const char *const *headers; /* "Name: value" lines, NULL ends; or NULL */
    struct view body;           /* borrowed until the end; POST when it is
                                   not empty, else GET */
    uint64_t connect_ms;        /* each: 0 means the default */
    uint64_t first_byte_ms;     /* from the start to the first payload */
    uint64_t idle_ms;           /* between two payloads */
    uint64_t total_ms;
    size_t max_bytes; /* of the body that comes back */
};

struct http_response {
    enum http_end end;
    unsigned status;         /* 0: none came */
    uint64_t retry_after_ms; /* retry-after-ms, Retry-After; 0: none */
    int should_retry;        /* x-should-retry: 1, -1; 0: not said */
    char content_type[64];
    char text[256]; /* what went wrong, a sentence; "" when HTTP_ANSWERED */
};

/* What a piece of the body was worth. */
enum http_verdict {
    HTTP_PAYLOAD, /* progress: the idle time starts anew */
    HTTP_NOISE,   /* keep-alive comments, half a line: it does not */
    HTTP_STOP,    /* no more is wanted: end with HTTP_ENOUGH */
};

struct http_events {
    enum http_verdict (*on_body)(void *owner, unsigned status,
                                 struct view bytes);
    void (*on_done)(void *owner, const struct http_response *response);
};

/* NULL: curl cannot start. */
struct http *http_new(uv_loop_t *loop);

/* Cancels what runs, closes; closed(owner) when all is gone from the loop. */
void http_free(struct http *http, void (*closed)(void *owner), void *owner);

/* Copies the url and the headers. Never fails: what is wrong with the request
 * is reported as HTTP_NOT_SENT. */
struct http_call *http_start(struct http *http,
                             const struct http_request *request,
                             struct http_events events, void *owner);

/* Also from inside callbacks; no callback comes after. Accepts NULL. A call
 * that was reported is gone: do not cancel it. */
void http_cancel(struct http_call *call);

#endif
