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
    SENTENCE_BYTES = 300,  /* why a request was refused */
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

/* One end of a link. What is read here is written to the other one. There is
 * one buffer, and it is read into only while it is not being written: a side
 * that sends faster than the other takes has to wait. */
struct side {
    uv_tcp_t tcp; /* valid while open, and until its close has come back */
    struct proxy_link *link;
    struct side *other;
    bool open;    /* tcp has to be closed */
    bool reading; /* libuv is asked for bytes */
    bool ended;   /* no more bytes come from here */
    bool busy;    /* write is in use: bytes go to the other side */
    uv_write_t write;
    uv_shutdown_t shutdown;
    char bytes[PASS_BYTES];
};

/* Made when a box connects, ended by link_end(). Callbacks of libuv may still
 * come then: the memory goes with the last of them. */
struct proxy_link {
    struct proxy_link *next; /* of its door */
    struct door *door;       /* valid until ENDED, and during a look-up */
    struct machine machine;  /* enum proxy_link_state */
    struct loop_alarm *deadline;
    struct side client, server;
    struct buf head; /* of the request, and what came with it; then the answer
                        of a refusal, which stays until it is written */
    struct proxy_request request;
    bool admitted;      /* counted in door->admitted */
    uint64_t body_left; /* of a plain request: bytes that may still follow */
    uv_getaddrinfo_t lookup;
    struct addrinfo *addresses;     /* owned */
    const struct addrinfo *address; /* the next one to be tried */
    uv_connect_t connect;
    unsigned int tries;   /* addresses tried so far */
    int failure;          /* of the address tried last: an error of libuv */
    unsigned int pending; /* callbacks that have not come; one until ENDED */
};

/* -------- link.c */

/* The state's time begins anew: something has happened. */
void link_prolong(struct proxy_link *link);
/* One callback of those that pending counts has come. */
void link_release(struct proxy_link *link);

void side_open(struct side *side);
/* callback has to link_release(). Nothing, if the side is not open. */
void side_close(struct side *side, uv_close_cb callback);

/* The answer to a request that is not carried out: a status of HTTP and a
 * sentence, which the log gets as well. It may end the link. */
void link_refuse(struct proxy_link *link, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void link_log(const struct proxy_link *link, const char *what,
              const char *text);

/* Bytes of the head have come: in READING, which this may leave. */
void link_take_head(struct proxy_link *link, struct view bytes);

/* -------- reach.c */

/* The address that is tried does not answer in time: the next one. */
void link_give_up(struct proxy_link *link);

/* -------- pass.c */

/* Reads what is wanted now, and nothing else. */
void link_listen(struct proxy_link *link);
/* The other side gets these bytes, which must stay where they are until they
 * are written. side->busy must be false. It may end the link. */
void side_pass(struct side *side, struct view bytes);
/* No more bytes go to this side. */
void side_shut(struct side *side);

#endif
