/* call.h - the calls of a session and what came of them, remembered.
 *
 * A consumer may die after it asked for a run and before it wrote down the
 * outcome; the next one asks again with the same call id. So the warden keeps
 * the frames of a call until the call is forgotten (then the outcome is in a
 * journal) or too many frames came after it. It always remembers that the call
 * has run: when it is asked for again, it answers only that it is done. */
#ifndef EXECUTOR_WARDEN_CALL_H
#define EXECUTOR_WARDEN_CALL_H

#include "executor/warden/peer.h"
#include "schemas/message/limits.h"

struct session_call {
    struct session_call *next; /* newest first */
    char id[MAX_NAME_BYTES + 1];
    bool done;
    struct peer *peer; /* who listens now; NULL: nobody */
    uint64_t ref;
    struct buf frames; /* without ref; as many as there is room for */
};

struct session_calls {
    struct session_call *newest;
};

struct session_call *calls_find(struct session_calls *calls, struct view id);
/* A new one; drops what is too old or too much. */
struct session_call *calls_add(struct session_calls *calls, struct view id);
/* Its outcome, if it is done. False: the session has not seen that call. */
bool calls_forget(struct session_calls *calls, struct view id);
void calls_leave(struct session_calls *calls, const struct peer *peer);
void calls_finish(struct session_calls *calls);

/* To whoever listens, and into memory. FRAME_DONE ends the call; it is fresh
 * for who hears it as it happens. */
void call_say(struct session_call *call, struct frame *frame);
/* From now on peer listens, and hears first what was said so far. Whoever
 * listened before is told that it does not any more. */
void call_attach(struct session_call *call, struct peer *peer, uint64_t ref);

#endif
