/* code_calls.h - tools that the code of a cell calls.
 *
 * When a cell has to run a second time, its code calls the tools again: the
 * answers then come from the journal. */
#ifndef CONSUMER_ACTIVITY_CODE_CALLS_H
#define CONSUMER_ACTIVITY_CODE_CALLS_H

#include "consumer/activity/tool_use.h"

extern const struct tool_side code_side;

/* The code of that call asks for one. */
void code_calls_ask(struct tool_uses *uses, struct view call,
                    const struct frame *frame);
/* The code of that call runs from its beginning. */
void code_calls_rerun(struct tool_uses *uses, struct view call);
/* The code of an earlier call runs again, and asks: from the journal, or not at
 * all. */
void code_calls_repeat(struct attempt *attempt, struct view call,
                       const struct frame *frame);

#endif
