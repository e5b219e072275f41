/* question.h - what a person is asked about before it is run, and how long.
 *
 * The operator names tools, the job may name more. Code needs approval when
 * execute_python_code does, and when it names a tool that does: who approves
 * code approves the calls that it makes. Other code is refused such calls. What
 * a producer submits as cells is said by a person already. */
#ifndef CONSUMER_QUESTION_H
#define CONSUMER_QUESTION_H

#include "consumer/conversation/terms.h"

/* A call of it, by a model. */
bool question_of_tool(const struct job *job, const struct tool *tool);
bool question_of_code(const struct terms *terms, const struct job *job,
                      struct view code);

/* How long somebody is waited for; and the verdict then: abort, skip. */
uint64_t question_ms(const struct terms *terms, const struct job *job);
struct view question_default(const struct terms *terms, const struct job *job);

#endif
