/* terms.h - what an operator has set that a conversation depends on.
 *
 * The job, its journal and its terms decide every next step. So an intent
 * carries the terms into the journal when they differ from those of the intent
 * before it, and a reader of the journal can do every step again. */
#ifndef CONSUMER_TERMS_H
#define CONSUMER_TERMS_H

#include "consumer/conversation/budget.h"
#include "consumer/conversation/conversation.h"
#include "consumer/conversation/prompt.h"
#include "consumer/model/endpoint.h"
#include "consumer/tools/catalog.h"

struct terms {
    const struct prompts *prompts;
    const struct catalog *catalog; /* of tools other than Python, by mode */
    json_t *tools;         /* that the model is offered; NULL: CodeAct mode */
    struct view functions; /* stubs of what code may call; CodeAct mode */
    struct view libraries; /* that code may import, with commas */
    const struct model_endpoint *endpoint; /* NULL: no model is asked */
    uint64_t max_turns, max_tokens; /* the operator's; jobs may ask for less */
    uint64_t max_total_tokens, max_cost; /* likewise; 0: no limit */
    uint64_t repeats;
    uint64_t output_repairs;      /* answers that are not of the form */
    bool approves_code;           /* a person must; of other tools, they say */
    uint64_t approval_ms;         /* for so long at most */
    const char *approval_default; /* and then: abort, skip */
    uint64_t pictures; /* that a request may show; 0: the model sees none */
    uint64_t picture_bytes;
    const char *blob_url; /* template, see links.h; "", NULL: none */
};

/* As JSON, into out, which it initializes; empty when that would be more than
 * MAX_TERMS_BYTES. Neither where the endpoint is, nor its key, nor what is
 * called so among its parameters: "hidden" says that there was some. */
void terms_write(const struct terms *terms,
                 const struct conversation *conversation, struct buf *out);

/* The tool of that name, if the job may use it. Error: unknown_tool. */
const struct tool *terms_tool(const struct terms *terms, const struct job *job,
                              struct view name, struct err *err);

/* What the conversation may use up, and has, what is under way not included. */
struct budget terms_budget(const struct terms *terms,
                           const struct conversation *conversation);

/* least() of what a job wishes and what it may have at the most; 0: that is not
 * said. */
uint64_t terms_least(uint64_t wish, uint64_t most);

#endif
