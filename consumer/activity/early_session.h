/* early_session.h - makes the session ready while a reply still comes.
 *
 * It begins as soon as there is code in the reply, or the name of the tool that
 * runs code. Only the session is made, and earlier cells are restored; no code
 * of the reply is run before the message is complete and in the journal. It may
 * fail, or be for nothing: the cell makes the session ready in any case. */
#ifndef CONSUMER_ACTIVITY_EARLY_SESSION_H
#define CONSUMER_ACTIVITY_EARLY_SESSION_H

#include "schemas/message/buf.h"

struct model_turn;

/* Of one reply. Zeroed: nothing was heard of it. */
struct early_session {
    struct buf text; /* of the reply, until code begins; only in CodeAct mode */
    bool coming;     /* code has begun; it is looked for no more */
    bool readying;   /* the session has our request */
};

/* A piece of the reply's text has come. */
void early_session_hear(struct model_turn *turn, struct view text);
/* A call of that tool has begun in the reply. */
void early_session_call(struct model_turn *turn, struct view tool);
/* The reply is whole, or given up: gives up the request to the session if it
 * still runs, so that the session is free for the next activity. */
void early_session_end(struct model_turn *turn);

#endif
