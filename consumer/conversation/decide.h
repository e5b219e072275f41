/* decide.h - decides the next step, and the text that the model gets, from a
 * conversation and its terms alone.
 *
 * An attempt carries out the step; quern-replay compares it with the recorded
 * one. So no function here asks a clock, Redis, or anybody outside. Whatever a
 * decision depends on must be in the job, the journal or the terms. */
#ifndef CONSUMER_DECIDE_H
#define CONSUMER_DECIDE_H

#include "consumer/conversation/ask.h"
#include "consumer/conversation/budget.h"
#include "consumer/conversation/request_image.h"
#include "consumer/conversation/terms.h"
#include "consumer/model/model.h"

/* Decodes the job that was submitted under that id. It borrows from body, and
 * its lists are in the arena. Errors: those of job_decode(); id_mismatch;
 * lost_body: there are no bytes, though submit takes no such job. */
bool decide_job(struct job *job, struct view id, struct view body,
                struct arena *arena, struct err *err);

/* The user has uploaded files and written nothing. decide_upload() gives such a
 * job a prompt that says so. */
bool decide_is_upload(const struct job *job);
void decide_upload(struct job *job, const struct prompts *prompts,
                   struct arena *arena);

/* As conversation_next(); but after terms->output_repairs answers that do not
 * fit the job's schema no other one is asked for. */
enum next_action decide_next(const struct conversation *conversation,
                             const struct terms *terms);

/* Whether the terms' endpoint may be asked at all: a limit on money needs a
 * price, and the operator may not allow the job's parameters. Error: bad_field.
 * err may be NULL. */
bool decide_may_ask(const struct conversation *conversation,
                    const struct terms *terms, struct err *err);

/* Which pictures the next request holds, the newest first. The caller reads
 * their bytes. Returns how many. */
size_t decide_images(const struct conversation *conversation,
                     const struct terms *terms,
                     struct request_image images[MAX_SHOWN]);

enum ask_kind {
    ASK_NEXT, /* a new request: one before that is still open counts as spent */
    ASK_LESS, /* the same, shorter: the one before was too long */
    ASK_AGAIN, /* the request of the last intent, composed once more */
};

/* What a request depends on beside conversation and terms. */
struct request_context {
    enum ask_kind kind;
    const struct request_image *images; /* of decide_images(); those without
                                           bytes are only named */
    size_t image_count;
};

/* The request of the next turn; or, before that, one for a summary of what it
 * would leave out, if the operator wants that of the endpoint and no limit is
 * near. */
struct model_plan {
    struct request_messages content; /* what is sent of the conversation */
    struct model_request request;    /* borrows the messages of content */
    struct budget_plan bounds;       /* what it may cost at most */
    const char
        *last; /* the code why it asks for a last answer; "": it does not */
    enum record_purpose purpose; /* a summary: the turn comes after it */
};

/* Of what the plan's request may take at most, the tokens of its reply. */
uint64_t decide_reply_tokens(const struct model_plan *plan);

/* The caller gives back plan->content.messages, also on error. Errors:
 * model_context; or, with plan->bounds.fits false, not even an answer can be
 * asked for: token_limit, cost_limit. */
bool decide_request(const struct conversation *conversation,
                    const struct terms *terms,
                    const struct request_context *context,
                    struct model_plan *plan, struct err *err);

/* When decide_next() answers NEXT_END: the state that the job ends in. why:
 * zeroed when it is completed. */
int decide_end(const struct conversation *conversation,
               const struct terms *terms, struct err *why);

/* The answer as clients get it: its links lead to the files that the job has
 * left. In the arena; empty: as the model has written it. */
struct view decide_answer(const struct conversation *conversation,
                          const struct terms *terms, struct arena *arena);

/* The call is one of a tool other than Python, made by the model itself. */
bool decide_is_tool(const struct call *call);

/* What is to be done with a call. */
enum ruling {
    RULING_RUN,
    RULING_REFUSE, /* it cannot be run as the model wrote it */
    RULING_FORBID, /* by the brake: it was done often enough */
    RULING_BAR,    /* a person does not want it, or cannot be asked */
};
/* Of a call of Python. code: initialized, and given the code. why: set with
 * RULING_REFUSE, and with RULING_BAR where nobody was asked. */
enum ruling decide_code(const struct conversation *conversation,
                        const struct terms *terms, const struct call *call,
                        struct buf *code, struct err *why);
/* Of a call of another tool. arguments: initialized, and given them as the tool
 * gets them. why: as above. */
enum ruling decide_tool(const struct conversation *conversation,
                        const struct terms *terms, const struct call *call,
                        const struct tool **tool, struct buf *arguments,
                        struct err *why);

/* The tool that the code of that cell may call by that name. NULL: none.
 * Errors: unknown_tool, not_approved. */
const struct tool *decide_code_tool(const struct conversation *conversation,
                                    const struct terms *terms, struct view call,
                                    struct view name, struct err *err);

/* The next call of the reply that a person must be asked about before any of
 * them is run; NULL: none. A call that cannot be run anyway needs no approval.
 * why: what is wrong with what a person has written in its place; zeroed:
 * nothing was. */
const struct call *decide_approval(const struct conversation *conversation,
                                   const struct terms *terms, struct err *why);
/* What would be run, as quern has understood the call, for that person to see.
 * Initializes out. */
void decide_preview(const struct conversation *conversation,
                    const struct terms *terms, const struct call *call,
                    struct buf *out);

/* Appends to out what the model is told of a call that was not run, or that
 * failed. */
void decide_refusal(const struct call *call, enum ruling ruling,
                    const struct err *why, struct buf *out);

/* Whether the model is told beside a result that this leads nowhere. what: the
 * code or the arguments; count: the first so many digests of the conversation
 * are of results before this one. */
bool decide_hint(const struct conversation *conversation, size_t count,
                 const struct terms *terms, struct view what,
                 const struct record *result);

#endif
