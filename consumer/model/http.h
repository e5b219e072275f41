/* http.h - HTTP requests on a libuv loop.
 *
 * One struct http per loop keeps the connections, HTTP/2 where it is offered.
 * A call ends once, reported from the loop, never from inside http_start().
 * Every wait has its bound: the connection, the first payload, the next one,
 * the whole. Redirects are not followed; only http and https. */
#ifndef CONSUMER_HTTP_H
#define CONSUMER_HTTP_H

#include <sys/socket.h>
#include <uv.h>

#include "schemas/message/view.h"

struct http;
struct http_call;

/* How a call ended: what may have happened on the other side. */
enum http_end {
    HTTP_ANSWERED,  /* whole; see status */
    HTTP_NOT_SENT,  /* provably never taken: URL, name, connection, TLS */
    HTTP_BROKEN,    /* sent, then the connection went away or spoke nonsense */
    HTTP_TIMEOUT,   /* sent, and no answer, or not the rest of it, in time */
    HTTP_TOO_LARGE, /* more than max_bytes */
    HTTP_STOPPED,   /* the owner wanted no more, and more would have come */
};

/* Whether a connection may be made to that address, which is what the name has
 * become, and what is connected to. */
typedef bool http_guard(void *owner, const struct sockaddr *address);

/* Of an answer: name after name, with its value. False: that was all. */
struct http_headers;
bool http_header_next(struct http_headers *headers, struct view *name,
                      struct view *value);
/* Now, in ms since 1970, by the clock of who answers, as its times of day are;
 * by ours when it has not said (Date). */
uint64_t http_header_time(const struct http_headers *headers);

struct http_request {
    const char *url;
    const char *const *headers; /* "Name: value" lines, NULL ends; or NULL */
    struct view body;           /* borrowed to the end; empty: GET, else POST */
    void (*on_sent)(void *owner); /* it need not stay from here; or NULL */
    uint64_t connect_ms;          /* these four: 0 means the default */
    uint64_t first_byte_ms;       /* from the start to the first payload */
    uint64_t idle_ms;             /* between two payloads */
    uint64_t total_ms;
    size_t max_bytes; /* of the body that comes back, unpacked */
    bool packed;      /* it may come compressed, and is unpacked */
    const char *keep; /* a header of the answer that is wanted, or NULL */
    /* When the answer begins, before its body; or NULL. */
    void (*on_headers)(void *owner, struct http_headers *headers);
    /* NULL: any address. A guarded request shares no connection with others,
     * and takes no proxy: neither would ask. */
    http_guard *guard;
};

struct http_response {
    enum http_end end;
    unsigned status;         /* 0: none came */
    uint64_t retry_after_ms; /* retry-after-ms, Retry-After; 0: none */
    int should_retry;        /* x-should-retry: 1, -1; 0: not said */
    char type[128];          /* Content-Type; "": none */
    char location[2048];     /* of a redirect; "": none, or a longer one */
    char kept[256];          /* request.keep; "": none, or a longer one */
    char text[256]; /* what went wrong, a sentence; "" when HTTP_ANSWERED */
};

/* What a piece of the body was worth. */
enum http_verdict {
    HTTP_PAYLOAD, /* progress: the idle time starts anew */
    HTTP_NOISE,   /* keep-alive comments, half a line: it does not */
    HTTP_STOP,    /* no more is wanted: what still comes soon is dropped */
};

struct http_events {
    enum http_verdict (*on_body)(void *owner, unsigned status,
                                 struct view bytes);
    void (*on_done)(void *owner, const struct http_response *response);
};

/* NULL: curl cannot start. */
struct http *http_new(uv_loop_t *loop);

/* Now, as its calls count time: ms of the loop's clock. */
uint64_t http_now_ms(const struct http *http);

/* Cancels what runs, closes; closed(owner) when all is gone from the loop. Not
 * from inside on_body(). */
void http_free(struct http *http, void (*closed)(void *owner), void *owner);

/* Copies the URL and the headers, borrows keep to the end. Never fails: what is
 * wrong with the request is reported as HTTP_NOT_SENT. */
struct http_call *http_start(struct http *http,
                             const struct http_request *request,
                             struct http_events events, void *owner);

/* Also from inside callbacks; no callback comes after. A call is gone when its
 * on_done() is called. Accepts NULL. */
void http_cancel(struct http_call *call);

#endif
