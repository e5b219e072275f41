/* memory.h - the exchanges of a session's earlier jobs, as the model is shown
 * them, and the exchange that this job adds.
 *
 * Each job adds a question and an answer, but none of its calls. The next job
 * may ask another model, in another mode, where these calls mean nothing; and
 * endpoints refuse a call that has lost its result. To go on, a model needs to
 * know which variables and files exist. So a note after the question has the
 * code that ran. The note is part of the user's message: if it were part of the
 * answer, the model would copy it as the way to act. */
#ifndef CONSUMER_MEMORY_H
#define CONSUMER_MEMORY_H

#include "consumer/conversation/conversation.h"
#include "schemas/message/history.h"

/* Reads the blob of the session's history and puts it before the conversation,
 * two messages for each exchange, if the job wants to see it. An exchange of
 * this job is left out: an attempt before this one may have added it. history
 * borrows from bytes; blob: their name. Error: bad_message; then it is as if
 * nothing had been said. */
bool memory_recall(struct conversation *conversation, struct view bytes,
                   struct view blob, struct history *history,
                   struct arena *arena, struct err *err);

/* There are a question and an answer to remember. */
bool memory_is_due(const struct conversation *conversation);

/* Encodes what was said before, and the exchange of this conversation, in at
 * most max bytes: the oldest exchanges are left out, and long texts of this one
 * are cut in their middle. Initializes out; returns how many exchanges it
 * holds. */
size_t memory_write(struct buf *out, const struct history *before,
                    const struct conversation *conversation, uint64_t max);

#endif
