/* approval.h - which calls need a person's approval, and what becomes of calls
 * by the person's verdict.
 *
 * The operator names tools, and the job may name more. Code needs approval when
 * execute_python_code does, or when it names a tool that does: the person who
 * approves code approves the calls that it makes. Other code is refused such
 * calls. Cells that a producer submits need no approval.
 *
 * The person decides on all calls of a reply before any of them runs. So when
 * the person drops the reply, it has had no effect. */
#ifndef CONSUMER_APPROVAL_H
#define CONSUMER_APPROVAL_H

#include "consumer/conversation/terms.h"

/* A call of the tool, or code to be run, needs approval. */
bool approval_rule_of_tool(const struct job *job, const struct tool *tool);
bool approval_rule_of_code(const struct terms *terms, const struct job *job,
                           struct view code);

/* How long a verdict is waited for; and what counts as the verdict then: abort,
 * skip.
 */
uint64_t approval_rule_ms(const struct terms *terms, const struct job *job);
struct view approval_rule_default(const struct terms *terms,
                                  const struct job *job);

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
