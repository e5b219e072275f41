/* approval.h - a person's verdicts on calls before they are run.
 *
 * The person decides on all calls of a reply before any of them runs: so a
 * reply that is thrown away has done nothing. */
#ifndef CONSUMER_APPROVAL_H
#define CONSUMER_APPROVAL_H

#include "consumer/conversation/conversation.h"

/* A record of that kind. Error: internal, the journal is not ours. */
bool approval_apply(struct conversation *conversation,
                    const struct record *record, struct err *err);

/* It may be run, somebody has said so. */
bool approval_is_given(const struct call *call);
/* It must not be run, somebody has said so: what the model is told, appended
 * to out. False: nobody has. */
bool approval_refuses(const struct call *call, struct buf *out);

/* Beside what came of it: that it is not what the model wrote. */
void approval_note(const struct call *call, struct buf *out);

#endif
