/* http_request.h - a request as a handler sees it, and its answer.
 *
 *   on_request --> http_answer()          before any byte of the body
 *     |
 *     |--> http_body_collect() --> on_end --> http_answer(), or
 *     |                                       http_stream_begin()
 *     |--> http_body_receive() --> on_piece ... on_end --> the same
 *     |
 *     '--> later, when it has asked somebody else
 *
 * A request has a body when http_request_has_body(). Until the handler has
 * chosen, no byte of the body is read, and a peer that expects 100 (Continue)
 * does not get it. An answer before the body's end closes the connection.
 *
 * Whose it is: a request is the connection's. The handler may use it until it
 * has answered or begun a stream, or until on_gone is called, which happens
 * once, and only if the handler has not answered: the peer went away, was too
 * slow, or sent a malformed or too long body (the connection then answers by
 * itself). A stream is the handler's until http_stream_end() or until its
 * on_gone is called. Every function may be called inside of any callback, and
 * none of them calls back: all callbacks come from the loop. */
#ifndef PRODUCER_GATEWAY_HTTP_REQUEST_H
#define PRODUCER_GATEWAY_HTTP_REQUEST_H

#include "producer/gateway/http/http_bytes.h"
#include "producer/gateway/http/http_head.h"
#include "schemas/message/buf.h"

struct http_exchange;
struct http_stream;

/* Why a request or a stream has ended without the handler. */
enum http_gone {
    HTTP_GONE_PEER,   /* it closed the connection, or its half of it */
    HTTP_GONE_SLOW,   /* it sent, or read, too slowly */
    HTTP_GONE_CUT,    /* too much waited for it, and for all peers */
    HTTP_GONE_BAD,    /* its body is malformed, or longer than was allowed */
    HTTP_GONE_SERVER, /* the server ends */
};

struct http_request_events {
    void (*on_gone)(void *owner, enum http_gone why);
    /* http_body_receive() only. Borrow piece for the call. */
    void (*on_piece)(void *owner, struct view piece);
    /* The body is whole; body is what was collected, valid until the answer. */
    void (*on_end)(void *owner, struct view body);
};

struct http_error {
    unsigned int status;
    const char *message, *type, *param, *code; /* param and code may be NULL */
};

/* What to do with each request; called when its head is whole. */
struct http_handler {
    void (*on_request)(void *owner, struct http_exchange *request);
    /* Appends the JSON of an error to out; NULL: http_error_write(). */
    void (*write_error)(void *owner, const struct http_error *error,
                        struct buf *out);
    void *owner;
};

/* ------------------------------------------------------------- the request */

/* Borrows events, which must outlive the request. To be called before on_gone
 * can be wanted: inside of on_request. */
void http_request_follow(struct http_exchange *request,
                         const struct http_request_events *events, void *owner);

/* Method, target, version and length, valid as long as the request. */
const struct http_head *http_request_head(const struct http_exchange *request);
const char *http_request_method(const struct http_exchange *request);
bool http_request_has_body(const struct http_exchange *request);
/* The value of a header without regard to case; "" when it is absent. False
 * with err when it is there twice. */
bool http_request_value(const struct http_exchange *request, const char *name,
                        struct view *value, struct err *err);
/* The media type without its parameters, as it was written; "" for none. */
struct view http_request_type(const struct http_exchange *request);
/* The address of the peer without its port; of v6, its network of 64 bits, as
 * "2001:db8:1:2::"; "" of a unix socket. */
const char *http_request_address(const struct http_exchange *request);

/* ---------------------------------------------------------------- the body */

/* Collects at most max bytes, and then calls on_end. A longer body is answered
 * with 413, at once if its length was declared; when all bodies together pass
 * collected_bytes, with 503. */
void http_body_collect(struct http_exchange *request, size_t max);
/* Gives the body in pieces of at most HTTP_READ_BYTES; max as above. */
void http_body_receive(struct http_exchange *request, uint64_t max);
/* Stops and goes on reading. What was read at the time of the call still comes,
 * at most HTTP_READ_BYTES. While it is paused, no time runs against the peer,
 * and its going away is not seen. */
void http_body_pause(struct http_exchange *request);
void http_body_resume(struct http_exchange *request);

/* -------------------------------------------------------------- the answer */

/* -------- http_answer.c */
/* {"error":{"message":...,"type":...,"param":...,"code":...}} */
void http_error_write(const struct http_error *error, struct buf *out);
/* {"error":"<message>"} */
void http_error_write_short(const char *message, struct buf *out);

/* headers: count pairs beside those that the connection writes itself: Date,
 * Content-Length, Transfer-Encoding, Connection. A name that is no token, or a
 * value with a control byte, is a bug of ours, or of whoever made text of a
 * peer into a header: it is left out, and the answer is a 500. Bodies of HEAD,
 * 204 and 304 are not sent. Copies all. */
void http_answer(struct http_exchange *request, unsigned int status,
                 const struct http_pair *headers, unsigned int count,
                 struct view body);
/* An error's JSON, as application/json. */
void http_answer_error(struct http_exchange *request,
                       const struct http_error *error);

/* -------- http_stream.c */
enum { HTTP_CHUNKED = -1 };

struct http_stream_events {
    void (*on_gone)(void *owner, enum http_gone why);
    void (*on_drained)(void *owner); /* nothing waits any more; may be NULL */
};

/* Begins an answer whose body comes in pieces. The request is given up; a body
 * that has not come whole is dropped, and the connection then ends. length: of
 * the body, or HTTP_CHUNKED (which is sent without framing to a peer of
 * HTTP/1.0, and ends by closing). Never NULL; of a HEAD, what is sent is
 * dropped. */
struct http_stream *http_stream_begin(struct http_exchange *request,
                                      unsigned int status,
                                      const struct http_pair *headers,
                                      unsigned int count, int64_t length,
                                      const struct http_stream_events *events,
                                      void *owner);
/* Takes a reference of its own. Any size may be sent, but a writer of much
 * looks at http_stream_waiting(), and goes on at on_drained: when more than
 * waiting_bytes wait for all peers together, one for whom more than queue_bytes
 * wait is cut: on_gone comes. */
void http_stream_send(struct http_stream *stream, struct http_bytes *bytes);
size_t http_stream_waiting(const struct http_stream *stream); /* bytes */
/* Gives the stream up; no callback comes any more. When a declared length was
 * not reached, the connection closes. */
void http_stream_end(struct http_stream *stream);

#endif
