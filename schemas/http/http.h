/* http.h - HTTP requests on a libuv loop.
 *
 * One struct http per loop keeps the connections, HTTP/2 where it is offered.
 * The end of a call is reported once, from the loop, never from inside
 * http_start(). Every wait has a bound: the connection, the first payload, the
 * next one, the whole. Redirects are not followed; only http and https. */
#ifndef SCHEMAS_HTTP_H
#define SCHEMAS_HTTP_H

#include <sys/socket.h>
#include <uv.h>

#include "schemas/message/trace.h"
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

/* Whether a connection may be made to that address. It is the one that the name
 * was resolved to and that will be connected to, so the answer cannot be
 * outdated. Called from inside curl: it must not free the http. */
typedef bool http_guard(void *owner, const struct sockaddr *address);

/* The headers of an answer, valid while on_headers() runs. Gives one after the
 * other, borrowed. False: that was all. */
struct http_headers;
bool http_header_next(struct http_headers *headers, struct view *name,
                      struct view *value);
/* Now, in ms since 1970, by the clock of the server (the header Date), because
 * times of day in its other headers are by that clock; by ours without Date. */
uint64_t http_header_time(const struct http_headers *headers);

struct http_request {
    const char *url;
    const char *const *headers; /* "Name: value" lines, NULL ends; or NULL */
    struct trace trace;         /* of the job that it is made for: becomes the
                                   headers traceparent, with a parent id of its
                                   own, and tracestate, unless headers has them;
                                   borrowed for the start */
    struct view body;           /* empty: GET, else POST; borrowed until
                                   on_sent(), or else to the end */
    /* All of body has been given to curl and may be freed; or NULL. Not called
     * when the call ends before. */
    void (*on_sent)(void *owner);
    uint64_t connect_ms;    /* these four: 0 means the default */
    uint64_t first_byte_ms; /* from the start to the first payload */
    uint64_t idle_ms;       /* between two payloads */
    uint64_t total_ms;
    size_t max_bytes; /* of the answer's body, decompressed */
    bool packed;      /* the answer may be compressed; it is decompressed */
    const char *keep; /* name of a header for http_response.kept, or NULL */
    /* The headers of the answer are there, before its body; or NULL. Once. */
    void (*on_headers)(void *owner, struct http_headers *headers);
    /* NULL: any address. A guarded request shares no connection with others and
     * takes no proxy, because the guard would not be asked for these. */
    http_guard *guard;
};

/* What on_done() is told, borrowed for the call. */
struct http_response {
    enum http_end end;
    unsigned status;         /* 0: none came */
    uint64_t retry_after_ms; /* of retry-after-ms or Retry-After; 0: none */
    int should_retry;        /* x-should-retry: 1 yes, -1 no, 0 no header */
    char type[128];          /* Content-Type; "": none */
    char location[2048];     /* of a redirect; "": none, or a longer one */
    char kept[256];          /* of request.keep; "": none, or a longer one */
    char text[256]; /* what went wrong, a sentence; "" when HTTP_ANSWERED */
};

/* What the owner says of a piece of the body. */
enum http_verdict {
    HTTP_PAYLOAD, /* progress: the idle time starts anew */
    HTTP_NOISE,   /* keep-alive comments, half a line: it does not */
    HTTP_STOP,    /* no more is wanted: what still comes soon is dropped */
};

/* Both may cancel any call; on_body() must not free the http. */
struct http_events {
    enum http_verdict (*on_body)(void *owner, unsigned status,
                                 struct view bytes);
    void (*on_done)(void *owner, const struct http_response *response);
};

/* NULL: curl cannot start. */
struct http *http_new(uv_loop_t *loop);

/* Now, as its calls count time: ms of the loop's clock. */
uint64_t http_now_ms(const struct http *http);

/* Cancels all calls and closes. closed(owner) comes from the loop when all
 * handles are gone; may be NULL. Not from inside on_body(). */
void http_free(struct http *http, void (*closed)(void *owner), void *owner);

/* Copies the URL and the headers, borrows keep to the end. Never fails: a wrong
 * request is reported as HTTP_NOT_SENT. */
struct http_call *http_start(struct http *http,
                             const struct http_request *request,
                             struct http_events events, void *owner);

/* Ends a call; no callback of it comes after. Also from inside callbacks, but
 * not from its own on_done(): the call is freed before that. Accepts NULL. */
void http_cancel(struct http_call *call);

#endif
