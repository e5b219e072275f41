/* memory.h - what was said in the earlier jobs of a session, as a model is
 * shown it, and what this job adds.
 *
 * Question and answer, no calls: another job may ask another model, in another
 * mode, and calls of theirs mean nothing there; nor can one ever stand without
 * its result. What a model needs to go on is which variables and files there
 * are, so the code that ran follows the question, as a note of the user's: in
 * an answer it would be taken for the way to act. */
#ifndef CONSUMER_MEMORY_H
#define CONSUMER_MEMORY_H

#include "consumer/conversation/conversation.h"
#include "schemas/message/history.h"

/* What the blob of the session says, without this job's own: who runs again
 * does not see itself. It stands before the conversation then, two messages of
 * each exchange, if the job wants to see it. history borrows the bytes; blob:
 * their name.
 * Error: bad_message, and nothing was said. */
bool memory_recall(struct conversation *conversation, struct view bytes,
                   struct view blob, struct history *history,
                   struct arena *arena, struct err *err);

/* There is an answer to remember, and what it answers. */
bool memory_is_due(const struct conversation *conversation);

/* What was said before, and this conversation's, in at most max bytes: the
 * oldest go first, long texts of this one are cut in their middle. Initializes
 * out; returns how many exchanges it holds. */
size_t memory_write(struct buf *out, const struct history *before,
                    const struct conversation *conversation, uint64_t max);

#endif
