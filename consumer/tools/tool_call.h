/* tool_call.h - one call of a tool, whoever makes it: a model, or code.
 *
 *   new --start--> running --done()--> over        free at any time
 *
 * The arguments come from somebody whom nobody trusts: new checks them, so
 * that what a journal calls an intent can be carried out. */
#ifndef CONSUMER_TOOL_CALL_H
#define CONSUMER_TOOL_CALL_H

#include "consumer/tools/headers.h"
#include "consumer/tools/tool.h"
#include "schemas/message/limits.h"

struct tool_host;

/* It becomes a record of a journal, with a few words beside it. */
enum { MAX_TOOL_DATA = MAX_RECORD_BYTES - (4 << 10) };

/* data: JSON, borrowed, and what counts when why is of kind ERR_NONE. */
typedef void tool_done(void *owner, struct view data, const struct err *why);

/* Checks the arguments, starts nothing. NULL: they are not what the tool takes.
 * Error: bad_field, too_large, a sentence for whoever calls. Borrows host, tool
 * and what the caller has. */
struct tool_call *tool_call_new(struct tool_host *host, const struct tool *tool,
                                const struct caller *caller,
                                struct view arguments, tool_done *done,
                                void *owner, struct err *err);

/* done is called once, from the loop, never from inside here. */
void tool_call_start(struct tool_call *call);

/* Also from inside done(), and NULL. One that runs is cancelled; nothing is
 * reported after. */
void tool_call_free(struct tool_call *call);

/* --------------------------------------------------------- for kinds only */

struct tool_host *tool_call_host(const struct tool_call *call);
const struct tool *tool_call_tool(const struct tool_call *call);
const struct caller *tool_call_caller(const struct tool_call *call);
void *tool_call_state(struct tool_call *call);

/* From the loop, as soon as it comes round; once for a call. */
void tool_call_later(struct tool_call *call,
                     void (*step)(struct tool_call *call));

/* The end: the call may be gone afterwards. Data that is too large to be kept
 * is a failure. */
void tool_call_give(struct tool_call *call, struct view data);
void tool_call_fail(struct tool_call *call, const struct err *why);

#endif
