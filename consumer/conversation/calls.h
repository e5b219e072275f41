/* calls.h - reads what a reply asks to be done: in tools mode its tool calls;
 * in CodeAct mode the code in its text, which is one call of Python.
 *
 * The message is changed into what later requests will say of it, because
 * endpoints refuse histories that are wrong: ids become unique, arguments
 * become JSON, and observations that the model has made up are cut off. */
#ifndef CONSUMER_CALLS_H
#define CONSUMER_CALLS_H

#include "consumer/conversation/conversation.h"

struct reply_meaning {
    struct view answer; /* when there is nothing to be done */
    bool paused; /* the reply will go on; answer is the beginning of one */
    struct view notice; /* for the model, if nothing can be done; else empty */
    bool empty; /* with a notice: because the reply says nothing at all */
};

/* Of a job of kind code: each of its cells is a call. */
void calls_of_cells(struct conversation *conversation);

/* Replaces conversation->calls. message is changed. Views of the result are in
 * the arena of the conversation, or literals, or of the record. */
struct reply_meaning calls_of_reply(struct conversation *conversation,
                                    json_t *message,
                                    const struct record *record);

#endif
