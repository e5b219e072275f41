/* link_steps.h - what the parts of a link's machine share.
 *
 *   link.c   the table, its life; the request, and whether it may
 *   reach.c  waiting, resolving, connecting
 *   pass.c   passing, lingering: bytes from one side to the other */
#ifndef EXECUTOR_PROXY_LINK_STEPS_H
#define EXECUTOR_PROXY_LINK_STEPS_H

#include "executor/proxy/link.h"
#include "executor/proxy/request.h"
#include "schemas/message/machine.h"

enum {
    PASS_BYTES = 32 << 10, /* at once, each way */
    SENTENCE_BYTES = 300,
};

enum proxy_link_state {
    READING,    /* the head of a request */
    WAITING,    /* for other lookups of its session */
    RESOLVING,  /* the name */
    CONNECTING, /* to one address after the other */
    PASSING,    /* bytes, both ways */
    LINGERING,  /* the answer is on its way; what else comes is dropped */
    ENDED,
};

/* What is read here is written to the other one. */
struct side {
    uv_tcp_t tcp;
    struct proxy_link *link;
    struct side *other;
    bool open;    /* tcp is to be closed */
    bool reading; /* libuv is asked for bytes */
    bool ended;   /* no more bytes come from here, or none are wanted */
    bool busy;    /* its bytes are being written */
    uv_write_t write;
    uv_shutdown_t shutdown;
    char bytes[PASS_BYTES];
};

struct proxy_link {
    struct proxy_link *next;
    struct door *door;
    struct machine machine; /* enum proxy_link_state */
    struct loop_alarm *deadline;
    struct side client, server;
    struct buf head; /* of the request, and what came with it */
    struct proxy_request request;
    bool admitted;
    uint64_t body_left; /* of a plain request: bytes that may still follow */
    uv_getaddrinfo_t lookup;
    struct addrinfo *addresses;
    const struct addrinfo *address; /* that is tried next */
    uv_connect_t connect;
    unsigned int tries;
    int failure;          /* of the address tried last */
    unsigned int pending; /* callbacks that have not come; one until ENDED */
};

/* -------- link.c */

/* The state's time begins anew: something has happened. */
void link_prolong(struct proxy_link *link);
/* One callback of those that pending counts has come. */
void link_release(struct proxy_link *link);

void side_open(struct side *side);
void side_close(struct side *side, uv_close_cb callback);

/* The answer to a request that is not carried out: a status of HTTP and a
 * sentence, which the log gets as well. */
void link_refuse(struct proxy_link *link, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void link_log(const struct proxy_link *link, const char *what,
              const char *text);

/* Bytes of the head have come. */
void link_take_head(struct proxy_link *link, struct view bytes);

/* -------- reach.c */

/* The address that is tried does not answer: the next one. */
void link_give_up(struct proxy_link *link);

/* -------- pass.c */

/* Reads what is wanted now, and nothing else. */
void link_listen(struct proxy_link *link);
/* The other side gets these bytes, which stay where they are until then. */
void side_pass(struct side *side, struct view bytes);
/* No more bytes go to this side. */
void side_shut(struct side *side);

#endif
