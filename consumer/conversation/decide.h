/* decide.h - decides the next step, and the text that the model gets, from a
 * conversation and its terms alone.
 *
 * An attempt carries out the step; a replay compares it with the recorded one.
 * So no function here asks a clock, Redis, or anybody outside. */
#ifndef CONSUMER_DECIDE_H
#define CONSUMER_DECIDE_H

#include "consumer/conversation/ask.h"
#include "consumer/conversation/budget.h"
#include "consumer/conversation/request_image.h"
#include "consumer/conversation/terms.h"
#include "consumer/model/model.h"

/* The job that was submitted under that id. Errors: what job_decode() says,
 * id_mismatch; lost_body: there are no bytes, and submit takes no such job. */
bool decide_job(struct job *job, struct view id, struct view body,
                struct arena *arena, struct err *err);

/* Files and not a word: what the user says then becomes the job's prompt. */
bool decide_is_upload(const struct job *job);
void decide_upload(struct job *job, const struct prompts *prompts,
                   struct arena *arena);

/* -------- decide_request.c */

/* Whether the terms' endpoint may be asked at all: a limit on money needs a
 * price, and an operator may not allow what the job says of how the model
 * writes. Error: bad_field. */
bool decide_may_ask(const struct conversation *conversation,
                    const struct terms *terms, struct err *err);

/* Which pictures the next request holds, the newest first: their bytes are the
 * caller's to bring. */
size_t decide_images(const struct conversation *conversation,
                     const struct terms *terms,
                     struct request_image images[MAX_SHOWN]);

enum ask_kind {
    ASK_NEXT,  /* what was asked before, and not answered, counts */
    ASK_LESS,  /* that was too long: see squeeze in ask.h */
    ASK_AGAIN, /* the same: it has come to nothing */
};

/* What a request depends on beside conversation and terms. */
struct request_context {
    enum ask_kind kind;
    const struct request_image
        *images; /* those decided on; some without bytes */
    size_t image_count;
};

/* The request of the next turn; or one for a summary of what that would leave
 * out, where the endpoint is to be asked for one and there is no limit near. */
struct model_plan {
    struct request_messages content; /* what is sent of the conversation */
    struct model_request request;    /* borrows its messages */
    struct budget_plan bounds;       /* what it may take */
    const char *last; /* why it asks for an answer, a code; "": it does not */
    enum record_purpose purpose; /* a summary: the turn comes after it */
};

/* The caller lets plan->content.messages go, whatever has come. Errors:
 * model_context; with plan->bounds.fits false not even an answer can be asked
 * for: token_limit, cost_limit. */
bool decide_request(const struct conversation *conversation,
                    const struct terms *terms,
                    const struct request_context *context,
                    struct model_plan *plan, struct err *err);
/* That error, of a conversation that has ended with it. */
void decide_why_spent(const struct conversation *conversation,
                      const struct terms *terms, struct err *why);

/* -------- decide.c */

/* conversation_next(); but no other answer is asked for, after so many that
 * were not of the form that the job names. */
enum next_action decide_next(const struct conversation *conversation,
                             const struct terms *terms);

/* With decide_next() at NEXT_END: the state that the job ends in. why:
 * zeroed when it is completed. */
int decide_end(const struct conversation *conversation,
               const struct terms *terms, struct err *why);

/* The answer as clients get it: its links lead to what the job has left. Into
 * the arena; empty: it is as it was said. */
struct view decide_answer(const struct conversation *conversation,
                          const struct terms *terms, struct arena *arena);

/* A tool other than Python is called, by the model itself. */
bool decide_is_tool(const struct call *call);

/* RULING_BAR: a person does not want it, or cannot be asked. */
enum ruling { RULING_RUN, RULING_REFUSE, RULING_FORBID, RULING_BAR };
/* Of a call of Python: its code, into code, which is initialized. why: of
 * RULING_REFUSE, and of RULING_BAR where nobody was asked. */
enum ruling decide_code(const struct conversation *conversation,
                        const struct terms *terms, const struct call *call,
                        struct buf *code, struct err *why);
/* Of another one: its arguments, as the tool gets them. */
enum ruling decide_tool(const struct conversation *conversation,
                        const struct terms *terms, const struct call *call,
                        const struct tool **tool, struct buf *arguments,
                        struct err *why);

/* The tool that the code of that call may call by that name. NULL: none.
 * Errors: unknown_tool, not_approved. */
const struct tool *decide_code_tool(const struct conversation *conversation,
                                    const struct terms *terms, struct view call,
                                    struct view name, struct err *err);

/* The next call of the reply that a person is asked about before any is run;
 * NULL: none. Those that cannot be carried out anyway are not. why: what is
 * wrong with what was written in its place; zeroed: nothing was. */
const struct call *decide_approval(const struct conversation *conversation,
                                   const struct terms *terms, struct err *why);
/* What would be run of it, as it was understood, for that person to see. */
void decide_preview(const struct conversation *conversation,
                    const struct terms *terms, const struct call *call,
                    struct buf *out);

/* What the model is told of a call that was not carried out, or that failed:
 * out is appended to. */
void decide_refusal(const struct call *call, enum ruling ruling,
                    const struct err *why, struct buf *out);

/* Whether it is told beside a result that this leads nowhere. what: the code or
 * the arguments; count: so many digests of the conversation were known. */
bool decide_hint(const struct conversation *conversation, size_t count,
                 const struct terms *terms, struct view what,
                 const struct record *result);

#endif
