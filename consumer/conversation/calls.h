/* calls.h - what a reply asks to be done.
 *
 * In tools mode its tool calls; in CodeAct mode the code in its text, which is
 * one call of Python. The message is made what the history says: ids that are
 * unique, arguments that endpoints take back, nothing that was invented. */
#ifndef CONSUMER_CALLS_H
#define CONSUMER_CALLS_H

#include "consumer/conversation/conversation.h"

struct reply_meaning {
    struct view answer; /* when there is nothing to be done */
    bool paused;        /* it goes on: the answer is the beginning of one */
    struct view notice; /* why it cannot be done; empty: it can */
    bool empty; /* there is a notice, as the reply says nothing at all */
};

/* Cells of a job that brings them, each a call. */
void calls_of_cells(struct conversation *conversation);

/* Replaces conversation->calls. What is borrowed lives in its arena. */
struct reply_meaning calls_of_reply(struct conversation *conversation,
                                    json_t *message,
                                    const struct record *record);

#endif
