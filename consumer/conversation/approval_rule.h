/* approval_rule.h - which calls need a person's approval, and how long to wait.
 *
 * The operator names tools, and the job may name more. Code needs approval when
 * execute_python_code does, or when it names a tool that does: the person who
 * approves code approves the calls that it makes. Other code is refused such
 * calls. Cells that a producer submits need no approval. */
#ifndef CONSUMER_APPROVAL_RULE_H
#define CONSUMER_APPROVAL_RULE_H

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

#endif
