/* ahead.h - what can be done for a reply's code while the reply still comes.
 *
 * As soon as there is code in it, or the name of the tool that runs code, the
 * job's session is made ready; in CodeAct mode, each time that a block of it is
 * complete, the session compiles what there is so far. Nothing is run before
 * the message is complete and in the journal. All of it may fail, or be for
 * nothing: then the cell does it. */
#ifndef CONSUMER_STEP_AHEAD_H
#define CONSUMER_STEP_AHEAD_H

#include "consumer/conversation/codeact.h"

struct model_turn;

struct ahead {
    struct buf text; /* of the reply; only in CodeAct mode */
    struct buf code; /* of its blocks so far */
    struct codeact_cursor cursor;
    size_t read;   /* bytes, some of them again and again */
    bool coming;   /* code has begun */
    bool readying; /* the session is busy with that */
    bool compiled; /* the code so far, by the session */
};

/* A piece of the reply. */
void ahead_hear(struct model_turn *turn, struct view text);
/* A call has begun in it. */
void ahead_call(struct model_turn *turn, struct view tool);
/* The session has done what it was asked; true: it was asked here. */
bool ahead_is_ready(struct model_turn *turn);
/* The reply is there, or given up. */
void ahead_end(struct model_turn *turn);

#endif
