/* peer.h - who asks something of a session: a consumer's connection, or the
 * self-test. What one peer may use is bounded. */
#ifndef EXECUTOR_WARDEN_PEER_H
#define EXECUTOR_WARDEN_PEER_H

#include "schemas/message/frame.h"

/* Embedded in its owner, which calls sessions_leave() before it goes. These
 * functions do not call back into a session, but for sessions_hold(). */
struct peer {
    void (*send)(struct peer *peer, const struct frame *frame); /* borrows it */
    /* Bytes that the peer has not read yet. */
    size_t (*backlog)(const struct peer *peer);
    /* One of its requests is freed: queued_bytes went down. */
    void (*relieved)(struct peer *peer);
    size_t queued_bytes; /* of its requests that wait */
};

/* What a peer asks: a frame, and the memory that its views are in. */
struct peer_request {
    struct peer_request *next; /* in its session's list */
    struct peer *peer;         /* NULL: it went away */
    struct frame frame;
    struct arena arena;
    size_t bytes;     /* that it counts for in queued_bytes */
    bool interrupted; /* a run that was interrupted before it began */
};

/* Copies body, which must be a whole frame's; NULL with err when it is not
 * one. */
struct peer_request *request_new(struct peer *peer, struct view body,
                                 struct err *err);
void request_free(struct peer_request *request);

/* A session stops producing for a peer that lags so far behind, and goes on
 * when it is told that the peer has caught up. */
enum { PEER_HIGH_BYTES = 1 << 20 };

bool peer_lags(const struct peer *peer); /* NULL does not */

/* The answer to the request ref. peer may be NULL: it went away. */
void peer_answer(struct peer *peer, uint64_t ref, struct frame frame);
void peer_ok(struct peer *peer, uint64_t ref);
void peer_fail(struct peer *peer, uint64_t ref, const struct err *err);

#endif
