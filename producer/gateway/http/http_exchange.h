/* http_exchange.h - what the files of a connection share, and nobody else. */
#ifndef PRODUCER_GATEWAY_HTTP_EXCHANGE_H
#define PRODUCER_GATEWAY_HTTP_EXCHANGE_H

#include <llhttp.h>

#include "producer/gateway/http/http_connection.h"
#include "schemas/message/buf.h"
#include "schemas/message/machine.h"

/* Where a chunked body's framing is; see http_body.c. */
struct http_chunks {
    uint8_t part;
    uint8_t digits;
    uint64_t left; /* of the chunk */
};

/* While a request is read and answered. */
struct http_exchange {
    struct http_connection *connection;
    const struct http_request_events *events;
    void *owner;
    llhttp_t parser;
    struct http_head_scan scan;
    struct http_chunks chunks;
    struct buf body; /* what is collected */
    uint64_t got;    /* bytes of the body */
    uint64_t max;
    uint64_t began_ms;  /* the body; pauses are taken out */
    uint64_t paused_ms; /* since when */
    bool is_collected;
    bool is_over;   /* the memory of all bodies is used up */
    bool is_chosen; /* by the handler: collect, or receive */
    bool is_paused;
    bool is_headed;   /* llhttp has read the head */
    bool is_whole;    /* llhttp has read the body */
    bool is_told;     /* on_end was called */
    bool is_answered; /* or a stream has begun */
    struct http_head head;
    size_t text_len;
    char text[HTTP_MAX_HEAD];
};

struct http_stream {
    struct http_connection *connection;
    const struct http_stream_events *events;
    void *owner;
    uint64_t left; /* of a declared length */
    bool is_chunked;
    bool has_length;
    bool is_silent; /* HEAD, 204, 304: no body */
    bool ended;
    bool was_full; /* something waited: on_drained is due */
};

struct http_connection {
    struct machine machine;
    struct http_service *service;
    const struct http_wire *wire;
    void *owner;
    const char *address;
    struct http_exchange *request; /* from head to answering */
    struct http_stream *stream;    /* of streaming */
    struct view input;             /* that no state has taken yet */
    struct buf *held;              /* input of before */
    uint64_t deadline_ms;
    uint64_t moved_ms; /* when the peer has last taken bytes */
    uint64_t sent;     /* bytes given to the wire */
    uint64_t taken;    /* of these, those that did not wait at the last tick */
    size_t waiting;    /* as the service has counted it */
    enum http_gone why;
    bool ends;       /* the answer is the last of the connection */
    bool is_old;     /* the peer speaks HTTP/1.0 */
    bool was_used;   /* a request was answered */
    bool is_reading; /* as the wire was told */
    /* Noted; connection_heed() acts on them. */
    bool is_half; /* the peer has closed its half */
    bool is_cut;  /* to be closed */
    bool is_late; /* the deadline has passed, or the body is too slow */
};

/* Something was noted: the connection runs soon, or goes round once more. */
void http_connection_stir(struct http_connection *connection);

/* All bytes for the peer go this way. */
void http_connection_send(struct http_connection *connection,
                          struct http_bytes *bytes, struct view part);

/* Counts what waits for the peer, which it returns. */
size_t http_connection_count(struct http_connection *connection);

/* -------- http_body.c */
/* Hands the head's text to llhttp, which will frame the body. False: it refuses
 * what http_head_parse() has taken, or reads it in another way. */
bool http_body_begin(struct http_exchange *request, struct err *err);
/* Takes of bytes what belongs to the body. False with err and status: the body
 * is malformed or too long, or there is no memory left for it. */
bool http_body_feed(struct http_exchange *request, struct view *bytes,
                    unsigned int *status, struct err *err);
void http_body_free(struct http_exchange *request);
bool http_body_is_slow(const struct http_exchange *request);

/* -------- http_answer.c */
/* Sends an error by the handler's writer. */
void http_answer_refuse(struct http_connection *connection,
                        const struct http_error *error);
/* Appends a status line and headers, without the blank line; false: one of them
 * may not be sent. */
bool http_answer_head(const struct http_connection *connection, struct buf *out,
                      unsigned int status, const struct http_pair *headers,
                      unsigned int count);
bool http_answer_is_bodyless(unsigned int status);
void http_answer_put(struct http_connection *connection, struct view bytes);

#endif
