/* tool_calls.h - calls of tools other than Python: by the model, which are an
 * activity of their own (tool_calls_start() of activity.h), or by the code of a
 * cell. A call is one use of a tool:
 *
 *   asked --> intent written --> call made --> result written --> answered
 *
 * There may be many at once. A call whose result is in the journal is not made
 * again, whichever consumer takes the job over. One that has only an intent
 * there may have been carried out: it is made again if the tool says that this
 * does no harm (tool->repeat); else whoever asked is told that the outcome is
 * not known.
 *
 * When a cell has to run a second time, its code calls the tools again. Calls
 * that the journal has answers to get these, and are not made again. A call is
 * known again by its cell and a hash of tool and arguments, not by its number:
 * code that runs again may call in another order. */
#ifndef CONSUMER_ACTIVITY_TOOL_CALLS_H
#define CONSUMER_ACTIVITY_TOOL_CALLS_H

#include "consumer/activity/activity.h"

/* The uses of tools that go on in one activity. */
struct tool_uses {
    struct activity *activity;
    const struct tool_side *side; /* who calls */
    uint64_t parent; /* the span in which they are made; 0: there is none */
    struct tool_use *first;
};

/* Frees all uses. Calls that run are given up; results on their way to the
 * journal still come there. */
void tool_uses_drop(struct tool_uses *uses);

/* Of the activity that runs a cell: no use goes on yet. */
void code_calls_init(struct tool_uses *uses, struct activity *activity);
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
