/* code_calls.h - tools that the code of a cell calls.
 *
 * When a cell has to run a second time, its code calls the tools again. Calls
 * that the journal has answers to get these, and are not made again. A call is
 * known again by its cell and a hash of tool and arguments, not by its number:
 * code that runs again may call in another order. */
#ifndef CONSUMER_ACTIVITY_CODE_CALLS_H
#define CONSUMER_ACTIVITY_CODE_CALLS_H

#include "consumer/activity/tool_use.h"

extern const struct tool_side code_side;

/* The code of that call calls a tool; the frame is borrowed. The answer may
 * come before this returns. */
void code_calls_ask(struct tool_uses *uses, struct view call,
                    const struct frame *frame);
/* The code of that call runs from its beginning: nobody waits for the answers
 * to its calls so far. */
void code_calls_rerun(struct tool_uses *uses, struct view call);
/* The code of an earlier call runs again to restore the session, and calls a
 * tool. It is answered from the journal, or refused: nothing is called for a
 * restore. */
void code_calls_repeat(struct attempt *attempt, struct view call,
                       const struct frame *frame);

#endif
