/* tool.h - something that a model, or the code of a cell, may call.
 *
 * What carries it out is its *kind*, a table of functions: the operator's HTTP
 * request, a tool of an MCP server, a search, a page of the web. Callers know
 * tool_call.h only. Each kind has a struct of its own, whose first member is
 * struct tool. */
#ifndef CONSUMER_TOOL_H
#define CONSUMER_TOOL_H

#include <jansson.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

struct tool;
struct tool_call;

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

/* Parses and checks the arguments of a call. A new reference; NULL when the
 * parameters do not allow them. Error: bad_field, a sentence for the caller. */
json_t *tool_arguments(const struct tool *tool, struct view text,
                       struct err *err);

#endif
