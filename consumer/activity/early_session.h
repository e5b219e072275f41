/* early_session.h - the session is made ready while a reply still comes.
 *
 * As soon as there is code in the reply, or the name of the tool that runs
 * code. Nothing is run before the message is complete and in the journal. It
 * may fail, or be for nothing: then the cell does it. */
#ifndef CONSUMER_ACTIVITY_AHEAD_H
#define CONSUMER_ACTIVITY_AHEAD_H

#include "schemas/message/buf.h"

struct model_turn;

struct early_session {
    struct buf text; /* of the reply, until code begins; only in CodeAct mode */
    bool coming;     /* code has begun */
    bool readying;   /* the session is busy with that */
};

/* A piece of the reply. */
void early_session_hear(struct model_turn *turn, struct view text);
/* A call has begun in it. */
void early_session_call(struct model_turn *turn, struct view tool);
/* The reply is there, or given up. */
void early_session_end(struct model_turn *turn);

#endif
