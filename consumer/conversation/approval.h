/* approval.h - a person's verdicts on calls before they are run.
 *
 * The person decides on all calls of a reply before any of them runs. So when
 * the person drops the reply, it has had no effect. */
#ifndef CONSUMER_APPROVAL_H
#define CONSUMER_APPROVAL_H

#include "consumer/conversation/conversation.h"

/* Applies a record of kind approval. Error: internal, the journal is not ours.
 */
bool approval_apply(struct conversation *conversation,
                    const struct record *record, struct err *err);

/* A person has said that it may be run. */
bool approval_is_given(const struct call *call);
/* A person has said, or the time-out has, that it must not be run: appends to
 * out what the model is told. False: nobody has. */
bool approval_refuses(const struct call *call, struct buf *out);

/* Appends to a result that a person has changed the call, if so. */
void approval_note(const struct call *call, struct buf *out);

#endif
