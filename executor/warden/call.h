/* call.h - the calls of a session and what came of them, remembered.
 *
 * A consumer may die after it asked for a run and before it wrote down the
 * outcome; the next one asks again with the same call id. So the warden keeps
 * the frames of a call until the call is forgotten (then the outcome is in a
 * journal) or until newer calls need the room. It goes on to remember that the
 * call has run: when it is asked for again, it answers only that it is done,
 * and the code does not run twice. */
#ifndef EXECUTOR_WARDEN_CALL_H
#define EXECUTOR_WARDEN_CALL_H

#include "executor/warden/peer.h"
#include "schemas/message/limits.h"

/* Owned by its session. A call that is not done yet stays where it is. */
struct session_call {
    struct session_call *next; /* newest first */
    char id[MAX_NAME_BYTES + 1];
    bool done;         /* FRAME_DONE was its last frame */
    struct peer *peer; /* who listens now, borrowed; NULL: nobody */
    uint64_t ref;      /* the peer's, for its answers */
    struct buf frames; /* encoded, without ref; as many as there is room for */
};

struct session_calls {
    struct session_call *newest;
};

/* NULL: the session has not seen it. */
struct session_call *calls_find(struct session_calls *calls, struct view id);
/* A new one; drops what is too old or too much, but nothing of a call that is
 * not done. id: at most MAX_NAME_BYTES. */
struct session_call *calls_add(struct session_calls *calls, struct view id);
/* Drops its outcome, if it is done. False: the session has not seen it. */
bool calls_forget(struct session_calls *calls, struct view id);
/* The peer went away: nobody listens to its calls. */
void calls_leave(struct session_calls *calls, const struct peer *peer);
void calls_finish(struct session_calls *calls);

/* Sends the frame to whoever listens, and keeps it. FRAME_DONE ends the call;
 * for a peer that hears it as it happens it is fresh. Sets call, ref and fresh
 * of the frame. */
void call_say(struct session_call *call, struct frame *frame);
/* From now on peer listens. It is sent first what was kept so far. A peer that
 * listened before gets FRAME_FAILED. */
void call_attach(struct session_call *call, struct peer *peer, uint64_t ref);

#endif
