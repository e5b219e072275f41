/* conversation.h - the conversation so far, computed from the journal.
 *
 * Only journal records change a conversation. A record is applied when it is
 * durable, by the same code live and after a crash: so the consumer that takes
 * a job over has the same conversation as the first one. (What was said in
 * earlier jobs of the session is added with conversation_recall().)
 *
 *   ASK --model_intent, model_reply--> CALL --tool_intent, tool_result--+
 *    ^                                  ^  |                            |
 *    |                                  +--(calls left)-----------------+
 *    +----------(none left)----------------+      a reply without calls, or
 *                                                 with calls of functions of
 *                                                 the job: END
 *
 * Before ASK the model may be asked, in the same way, for a summary of the
 * messages that will be left out. That is no turn.
 *
 * A job of kind code is one turn whose calls are its cells. */
#ifndef CONSUMER_CONVERSATION_H
#define CONSUMER_CONVERSATION_H

#include <jansson.h>

#include "consumer/conversation/brake.h"
#include "consumer/conversation/budget.h"
#include "schemas/message/journal.h"
#include "schemas/message/limits.h"
#include "schemas/message/trace.h"

enum { MAX_IDLE = 3 }; /* useless replies in a row that end a job */
enum next_action { NEXT_ASK, NEXT_CALL, NEXT_END };

/* One call of the turn. Its texts are in the conversation's arena, or the
 * job's. */
struct call {
    char id[24];           /* ours: "turn.index" */
    const char *call_id;   /* the model's own, made unique; "": it has none */
    const char *tool;      /* name, as the model wrote it */
    struct view arguments; /* as the model wrote them */
    bool is_code;          /* arguments are the code itself, not JSON */
    bool intended;         /* tool_intent is in the journal */
    bool answered;         /* tool_result is, or nothing is to be run */
    bool is_callers; /* of a function of the job: the caller runs it, when the
                        job has ended */
    uint64_t number; /* among the other calls of the job, from 1 */
    uint64_t item;   /* its number among the items of the job, see item.h; 0: it
                        has none yet, or is none */
    int verdict;     /* enum verdict, of a person */
    bool unasked;    /* nobody gave the verdict: the time was up */
    struct view edited; /* run in the place of arguments; empty: nothing is */
    struct view said;   /* by the person, for the model; may be empty */
};

/* A tool call that the code of a cell makes. Code that runs again calls again:
 * a call of the same tool with the same arguments is the same call, whatever
 * its number is then. */
struct code_call {
    struct view call; /* our id of the cell's call */
    uint64_t number;  /* when it was made first; in the journal */
    struct view hash; /* of tool and arguments */
    bool answered;
    bool failed;       /* data is the sentence that says why */
    struct view data;  /* the value, JSON */
    uint64_t asked_as; /* its number in the run of the code that goes on; 0:
                          that has not made it yet */
};

struct terms_hash {
    unsigned char sha256[32];
};

/* Of messages that are left out: see window.h. A place is a position among the
 * messages of a request. It is only valid with the same history before it, so
 * each is kept with said_of of its time. */
struct summary {
    struct view text;      /* empty: there is none */
    size_t until;          /* the place up to which it tells */
    struct view of;        /* said_of then */
    bool due;              /* one is asked for */
    size_t wanted;         /* the place up to which it is to tell */
    struct view wanted_of; /* said_of then */
    size_t made, failed;   /* how many, in this job */
};

/* A part of what was said and done, for the result. */
struct said_item {
    uint64_t number;
    enum item_kind kind;
    uint64_t turn;
    size_t place; /* reasoning, message: of the message, among messages */
    struct view
        call; /* the others: our id of the call; function: the model's */
    struct view text; /* search: its arguments */
};

/* Of one attempt, which owns it. Views are of its arena. */
struct conversation {
    const struct job *job;
    struct arena arena; /* of the records, which are kept but for intents */
    json_t *messages;   /* without our own instructions; NULL: kinds other than
                           conversation */
    json_t *said; /* in the session before: two messages of each job; NULL:
                     nothing of it is shown */
    struct view said_of; /* the blob that said is of; empty: of none */
    size_t given;        /* the first so many messages came with the job */
    size_t records;      /* of the journal: the index of the next one */
    uint64_t turn;       /* replies so far, summaries not counted */
    bool over;           /* the last reply is the answer; */
    bool cut;            /* and was stopped by its length; */
    bool spent;          /* or no other can be asked for: see last */
    const struct call *aborted; /* where a person has ended it; NULL: nowhere */
    size_t idle;        /* replies in a row with which nothing could be done */
    size_t empty;       /* those among them, in a row, that said nothing */
    struct view answer; /* of the last reply, when there is nothing to do */
    struct view begun;  /* the beginning of that, in replies that have paused */
    json_t *parameters; /* of the model, that the job wants; NULL: none */
    json_t *schema;     /* that the answer must fit; NULL: any text will do */
    json_t *output;     /* the value that fits it; NULL: none yet */
    size_t misfits;     /* answers that did not fit */
    struct err misfit;  /* what was wrong with the last of them */
    bool files_there;   /* the session has been given the job's files */
    struct call *calls; /* of the last turn */
    size_t call_count;
    uint64_t called;              /* of the job, functions not counted */
    uint64_t items;               /* the highest number of an item so far */
    struct said_item *said_items; /* by number; those that are valid */
    size_t said_item_count;
    struct record *results;      /* the tool_results, in order */
    struct call_digest *digests; /* of each of these, see brake.h */
    size_t *places;              /* of the message of each, among messages */
    size_t result_count;
    struct view final; /* what the code that runs has given final_answer():
                          JSON; empty: nothing */
    struct terms_hash terms; /* of the last intent that had any */
    struct view last; /* a code: why an answer was asked for, or could not be;
                         empty: neither */
    struct code_call *code_calls; /* calls that code made, in order */
    size_t code_call_count;
    struct view reply_id; /* under which the endpoint keeps the reply to what
                             was sent last; empty: not known, or it has come */
    size_t kept;          /* the place where the last request began, see
                             window_cut(), */
    struct view kept_of;  /* and said_of then */
    uint64_t sent;        /* tokens of the last request, as we estimated them */
    struct summary summary;
    /* Our estimate of the last request that the endpoint has counted, and its
     * count: how the two compare. 0: none was counted yet. */
    uint64_t estimated, counted;
    char span[TRACE_PARENT_LEN + 1]; /* of the attempt that wrote the last
                                        record that names one; "": none did */
    struct spending spending;
    uint64_t model_ms, tools_ms; /* how long all replies and calls took */
};

/* Borrows the job. earlier: the bytes of the blob of that name in the job,
 * which has the conversation that it goes on from; empty: it goes on from none.
 * Errors: bad_field when its messages are not chat messages, or its schema is
 * none that can be checked, or both conversations together leave a call without
 * an answer; bad_message when the blob is no conversation. */
bool conversation_init(struct conversation *conversation, const struct job *job,
                       struct view earlier, struct err *err);
void conversation_finish(struct conversation *conversation);

/* All messages as the blob of a conversation (schemas/message/conversation.h),
 * without a turn in whose calls the job was stopped. Initializes out. Error:
 * too_large. */
bool conversation_keep(const struct conversation *conversation, struct buf *out,
                       struct err *err);

/* One record, encoded; nothing of it is borrowed. Error: internal, the journal
 * is not ours. */
bool conversation_apply(struct conversation *conversation, struct view record,
                        struct err *err);

/* What was said before, as the blob of that name has it: it stands before the
 * conversation from now on. said: a reference that is taken; NULL: nothing. It
 * is not shown where the job brings its own messages, goes on from another job,
 * or begins anew. */
void conversation_recall(struct conversation *conversation, json_t *said,
                         struct view blob);

/* The last intent that had terms had these, JSON: they need not be written
 * again. */
bool conversation_knows(const struct conversation *conversation,
                        struct view terms);

/* The last reply is thrown away: its items are not valid. */
void conversation_drop_items(struct conversation *conversation);

/* What the job wants: the last message of the user among those that came with
 * it. NULL: there is none. */
const json_t *conversation_task(const struct conversation *conversation);

/* The call is an item when it is made: Python, or a search. */
bool call_is_item(const struct call *call);

/* What is to be run: what a person has written in its place, or the model. */
struct view call_arguments(const struct call *call);

/* What follows from the records so far. decide_next() has the last word. */
enum next_action conversation_next(const struct conversation *conversation);
/* A call of the turn, by our id. NULL: there is none. */
const struct call *conversation_find(const struct conversation *conversation,
                                     struct view id);
/* The call that NEXT_CALL means: the first without a result. NULL: all have
 * one. */
const struct call *conversation_call(const struct conversation *conversation);

/* The call that code makes under that number, if the journal knows it: one of
 * that cell and hash which this run of the code has not made yet. Marks it as
 * made. It stays valid until the next record is applied. */
struct code_call *conversation_code_call(struct conversation *conversation,
                                         struct view call, uint64_t number,
                                         struct view hash);
/* The code of that call runs from its beginning: it has made no calls yet. */
void conversation_rerun(struct conversation *conversation, struct view call);

/* The last reply calls functions of the job, and all else that it calls has
 * been run: the job ends, and its result has these calls. */
bool conversation_hands_over(const struct conversation *conversation);

/* The last text of the assistant; of a reply that calls functions, its own; for
 * kind code the value of the last cell, or what it printed. Borrowed; may be
 * empty. */
struct view conversation_answer(const struct conversation *conversation);

/* The model has said nothing that can be acted on, MAX_IDLE times in a row. */
bool conversation_is_idle(const struct conversation *conversation);

/* Kind code: the cell that did not end ok; NULL: none. */
const struct record *
conversation_failure(const struct conversation *conversation);

/* Cells that have left their variables in the session as it is now. Run again
 * in order, they give a fresh session the same state, as far as code is
 * repeatable. */
struct earlier_cell {
    struct view call;
    struct view code;
    uint64_t number; /* of all cells of the job, from 1 */
};
struct earlier_cells {
    const struct earlier_cell *cells; /* in the conversation's arena */
    size_t count;
    size_t killed; /* others, which had to be killed: they are not run again */
};
struct earlier_cells
conversation_earlier_cells(struct conversation *conversation);
/* Cells that have ended, whatever has come of them. */
uint64_t conversation_cells(const struct conversation *conversation);

#endif
