/* terms.h - what decides how a conversation goes on, beside its job and its
 * journal: settings of the operator, the endpoint, the tools, what the executor
 * offers. Members of a job that older consumers did not know belong here, too.
 *
 * A model_intent carries the terms into the journal when they differ from those
 * of the model_intent before it. So a reader of the journal can do every step
 * again. Jobs of kinds code and session ask no model, and record no terms. */
#ifndef CONSUMER_TERMS_H
#define CONSUMER_TERMS_H

#include "consumer/conversation/ask.h"
#include "consumer/conversation/budget.h"
#include "consumer/conversation/conversation.h"
#include "consumer/model/endpoint.h"
#include "consumer/tools/catalog.h"

/* All of it is borrowed: attempt_terms() makes them, and so does a replay. */
struct terms {
    const struct prompts *prompts;
    const struct catalog *catalog; /* tools but Python, for the job's mode */
    json_t *tools;         /* that the model is offered; NULL: CodeAct mode */
    struct view functions; /* stubs of what code may call; CodeAct mode */
    struct view libraries; /* that code may import, with commas */
    const struct model_endpoint *endpoint; /* NULL: no model is asked */
    bool hands_over;    /* calls of functions of the job end it */
    struct view choice; /* the job's tool_choice; empty: auto */
    uint64_t max_tool_calls, max_output_tokens; /* the job's; 0: no limit */
    uint64_t max_turns, max_tokens; /* the operator's; jobs may ask for less */
    uint64_t max_total_tokens, max_cost; /* likewise; 0: no limit */
    uint64_t repeats;                    /* see brake.h; 0: no brake */
    uint64_t output_repairs; /* answers that do not fit output_schema: so many
                                are asked for again */
    bool approves_code;      /* a person must approve all code; other tools
                                say for themselves (tool->approve) */
    uint64_t approval_ms;    /* how long that is waited for, at most */
    const char *approval_default; /* the verdict then: abort, skip */
    uint64_t pictures; /* that a request may show; 0: the model sees none */
    uint64_t picture_bytes;
    const char *blob_url; /* template, see links.h; "", NULL: none */
};

/* Writes them as JSON into out, which it initializes; empty when that would be
 * more than MAX_TERMS_BYTES. They have neither the endpoint's URL nor its key.
 * A parameter whose name says that it is a secret is "***" in them, and then
 * "hidden" is true. */
void terms_write(const struct terms *terms,
                 const struct conversation *conversation, struct buf *out);

/* The tool of that name, if the job may use it. Error: unknown_tool. */
const struct tool *terms_tool(const struct terms *terms, const struct job *job,
                              struct view name, struct err *err);

/* What the conversation may use up and has used up, without what is reserved
 * for an open request. */
struct budget terms_budget(const struct terms *terms,
                           const struct conversation *conversation);

/* The smaller of what a job asks for and what it may have at most; 0 means that
 * one of them says nothing. */
uint64_t terms_least(uint64_t wish, uint64_t most);

#endif
