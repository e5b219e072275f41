/* tool_call.h - one call of a tool, made by a model or by code.
 *
 *   new --start--> running --done()--> over        free at any time
 *
 * The arguments are not trusted. tool_call_new() checks them and starts
 * nothing, so that activity/tool_calls.c can write the intent to the journal
 * between new and start: an intent in a journal is one that can be carried
 * out. */
#ifndef CONSUMER_TOOL_CALL_H
#define CONSUMER_TOOL_CALL_H

#include "consumer/tools/headers.h"
#include "consumer/tools/tool.h"
#include "schemas/message/limits.h"

struct tool_host;

/* The most bytes that a call gives: they become a record of the journal, which
 * has other members, too. */
enum { MAX_TOOL_DATA = MAX_RECORD_BYTES - (4 << 10) };

/* why->kind ERR_NONE: data is the value, JSON; else there is none. Both are
 * borrowed for the call, in which the call of the tool may be freed. */
typedef void tool_done(void *owner, struct view data, const struct err *why);

/* Checks the arguments, starts nothing. NULL: the tool does not take them.
 * Error: bad_field, too_large, a sentence for the caller. Borrows host, tool
 * and what caller points to until tool_call_free(). */
struct tool_call *tool_call_new(struct tool_host *host, const struct tool *tool,
                                const struct caller *caller,
                                struct view arguments, tool_done *done,
                                void *owner, struct err *err);

/* done is called once, from the loop, never from inside here. Afterwards the
 * call still has to be freed. */
void tool_call_start(struct tool_call *call);

/* Accepts NULL; also from inside done(). A running call is cancelled, and done
 * does not come any more. Whether its request has had an effect is then
 * unknown. */
void tool_call_free(struct tool_call *call);

/* --------------------------------------------------------- for kinds only */

struct tool_host *tool_call_host(const struct tool_call *call);
const struct tool *tool_call_tool(const struct tool_call *call);
const struct caller *tool_call_caller(const struct tool_call *call);
void *tool_call_state(struct tool_call *call);

/* Calls step from the loop, in its next round, unless the call is freed before.
 * At most once for a call. For kinds that have their value at once. */
void tool_call_later(struct tool_call *call,
                     void (*step)(struct tool_call *call));

/* The end of a call, which may be freed when these return. Data larger than
 * MAX_TOOL_DATA is turned into a failure. */
void tool_call_give(struct tool_call *call, struct view data);
void tool_call_fail(struct tool_call *call, const struct err *why);

#endif
