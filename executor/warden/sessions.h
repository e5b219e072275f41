/* sessions.h - all sessions of this warden, by name.
 *
 * A session that is leaving cannot be found by its name any more, and a new one
 * may have that name; but it counts until it has ended. */
#ifndef EXECUTOR_WARDEN_SESSIONS_H
#define EXECUTOR_WARDEN_SESSIONS_H

#include "executor/warden/pool.h"
#include "executor/warden/session.h"

enum { SESSION_BUCKETS = 1024 }; /* of the hash table of names */

/* One for the process, in its main(). Owns sessions, borrows the rest. */
struct sessions {
    uv_loop_t *loop;
    const struct executor_settings *settings;
    struct boxes *boxes;
    struct interpreter_pool *pool;
    struct session *buckets[SESSION_BUCKETS]; /* by name */
    struct packages *packages;         /* NULL: none are installed on demand */
    size_t count;                      /* with those that are leaving */
    struct session_walk *walk;         /* the innermost that is under way */
    char instance[MAX_NAME_BYTES + 1]; /* host/chance: no other warden's */
    uint64_t made;                     /* sessions so far */
};

/* Fills in the instance; the rest is the caller's. */
void sessions_name(struct sessions *sessions);

/* Takes the request, and finds or makes the session that it is for. A session
 * may be freed before this returns. */
void sessions_ask(struct sessions *sessions, struct peer_request *request);
/* Puts into the warden's numbers how many there are. */
void sessions_count(struct sessions *sessions);
/* The peer went away: no session knows it any more. */
void sessions_leave(struct sessions *sessions, struct peer *peer);
/* A peer has begun to lag: sessions whose cells it listens to wait. Steps no
 * machine, so it may be called in the middle of sending. */
void sessions_hold(struct sessions *sessions);
/* The peer has read what it lagged behind with. */
void sessions_caught_up(struct sessions *sessions);
/* Ends them all. */
void sessions_finish(struct sessions *sessions);

/* Takes out and frees a session that has ended. */
void sessions_remove(struct sessions *sessions, struct session *session);

#endif
