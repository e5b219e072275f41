/* tool.h - something that a model, or the code of a cell, may call: the tool,
 * the JSON Schema of its arguments, and one call of it.
 *
 * What carries a tool out is its *kind*, a table of functions: the operator's
 * HTTP request, a tool of an MCP server, a search, a page of the web. Each kind
 * has a struct of its own, whose first member is struct tool. Callers need the
 * calls only:
 *
 *   new --start--> running --done()--> over        free at any time
 *
 * The arguments are not trusted. tool_call_new() checks them and starts
 * nothing, so that activity/tool_calls.c can write the intent to the journal
 * between new and start: an intent in a journal is one that can be carried
 * out. */
#ifndef CONSUMER_TOOL_H
#define CONSUMER_TOOL_H

#include <jansson.h>

#include "consumer/tools/headers.h"
#include "schemas/message/err.h"
#include "schemas/message/limits.h"
#include "schemas/message/view.h"

struct tool;
struct tool_call;
struct tool_host;

struct tool_kind {
    size_t state_bytes; /* of a call: tool_call_state(), zeroed */
    /* Keeps what it needs of the arguments and may change them; borrows them
     * for the call. The declared parameters allow them: names, types and enums
     * are checked, bounds are not. Starts nothing: the journal gets the intent
     * only after it. Error: bad_field, too_large, a sentence for the caller. */
    bool (*prepare)(struct tool_call *call, json_t *arguments, struct err *err);
    /* Leads to tool_call_give() or tool_call_fail(), once, from the loop, never
     * from inside start(). */
    void (*start)(struct tool_call *call);
    /* Cancels what runs, frees what the state holds. Called once, after
     * prepare(), also when that failed half way, or from inside done(). */
    void (*finish)(struct tool_call *call);
    void (*free)(struct tool *tool); /* when the last holder drops it */
};

/* Made by its kind, freed with its last holder. Constant once it is in a
 * catalog, but for approve and holders. */
struct tool {
    const struct tool_kind *kind;
    char *name;
    json_t *function; /* as a model is told: name, description, parameters */
    bool repeat;      /* a call whose outcome is not known may be made again */
    bool builtin;     /* an operator's tool of the same name replaces it */
    bool always;      /* offered even to jobs that name other tools */
    bool foreign;     /* described by a server: it never replaces another */
    bool approve;     /* a person must approve a model's call of it */
    size_t holders;   /* catalogs, and lists of servers */
};

/* A tool of ours: built in, and safe to repeat. function: JSON text, with the
 * name. Nobody holds it yet. */
void tool_init(struct tool *tool, const struct tool_kind *kind,
               const char *function);
void tool_finish(struct tool *tool); /* accepts a zeroed one */

/* The last one who drops a tool frees it. */
void tool_hold(struct tool *tool);
void tool_drop(struct tool *tool);

/* ------------------------------------------------------------- parameters */

/* The parameters of a tool are a JSON Schema, of which we read: an object, its
 * properties, the required ones, and whether there may be others
 * (additionalProperties). */

/* Whether this is such a schema. Error: bad_setting, with the member. */
bool parameters_check(const json_t *parameters, struct err *err);

/* Whether a call may have an argument of that name. */
bool parameters_have(const json_t *parameters, const char *name);

/* Parses and checks the arguments of a call. A new reference; NULL when the
 * parameters do not allow them. Error: bad_field, a sentence for the caller. */
json_t *tool_arguments(const struct tool *tool, struct view text,
                       struct err *err);

/* ------------------------------------------------------------------ calls */

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
