/* tool.h - something that a model, or the code of a cell, may call.
 *
 * What carries it out is its *kind*, a table of functions: the operator's HTTP
 * request, a search, a page of the web. Who calls knows none of them, only
 * tool_call.h. A tool is a part of what its kind has of it, the first one. */
#ifndef CONSUMER_TOOL_H
#define CONSUMER_TOOL_H

#include <jansson.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

struct tool;
struct tool_call;

struct tool_kind {
    size_t state_bytes; /* of a call: tool_call_state(), zeroed */
    /* Keeps what it needs of the arguments, which the parameters allow, and may
     * change them; starts nothing. Error: bad_field, too_large, a sentence for
     * whoever calls. */
    bool (*prepare)(struct tool_call *call, json_t *arguments, struct err *err);
    /* Ends in tool_call_give() or tool_call_fail(), once, later. */
    void (*start)(struct tool_call *call);
    /* After prepare(), whatever came of it, and at any time: what runs is
     * cancelled. */
    void (*finish)(struct tool_call *call);
    void (*free)(struct tool *tool);
};

struct tool {
    const struct tool_kind *kind;
    char *name;
    json_t *function; /* as a model is told: name, description, parameters */
    bool repeat;      /* a call whose outcome is not known may be made again */
    bool builtin;     /* one of the same name that an operator has wins */
    bool always;      /* whatever names a job gives */
    bool foreign;     /* named by a server: it takes the place of no other */
    bool approve;     /* a person must, before a model's call is made */
    size_t holders;   /* catalogs, of jobs that began before and after */
};

/* A tool of ours. function: as JSON text, which has its name. */
void tool_init(struct tool *tool, const struct tool_kind *kind,
               const char *function);
void tool_finish(struct tool *tool); /* accepts a zeroed one */

/* The last one who drops a tool frees it. */
void tool_hold(struct tool *tool);
void tool_drop(struct tool *tool);

/* The arguments of a call: a new reference, NULL when they are not what the
 * parameters allow. Error: bad_field, a sentence for whoever calls. */
json_t *tool_arguments(const struct tool *tool, struct view text,
                       struct err *err);

#endif
