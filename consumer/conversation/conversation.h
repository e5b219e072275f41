/* conversation.h - the conversation so far, computed from the journal.
 *
 * Only journal records change a conversation. A record is applied after it is
 * written, live and after a crash alike: so the consumer that takes a job over
 * has the same conversation as the first one.
 *
 *   ASK --model_intent, model_reply--> CALL --tool_intent, tool_result--+
 *    ^                                  ^  |                            |
 *    |                                  +--(calls left)-----------------+
 *    +----------(none left)----------------+      a reply without calls: END
 *
 * Before ASK the model may be asked, in the same way, for a summary of the
 * messages that will be left out: it is no turn.
 *
 * A job of kind code is one turn whose calls are its cells. */
#ifndef CONSUMER_CONVERSATION_H
#define CONSUMER_CONVERSATION_H

#include <jansson.h>

#include "consumer/conversation/brake.h"
#include "consumer/conversation/spending.h"
#include "schemas/message/journal.h"
#include "schemas/message/limits.h"

enum { MAX_IDLE = 3 };
enum next_action { NEXT_ASK, NEXT_CALL, NEXT_END };

/* One call of the turn. */
struct call {
    char id[24];         /* ours: "turn.index" */
    const char *call_id; /* the model's own, made unique */
    const char *tool;    /* name, as the model wrote it */
    struct view arguments;
    bool is_code;       /* arguments are the code itself */
    bool intended;      /* tool_intent is in the journal */
    bool answered;      /* tool_result is */
    int verdict;        /* enum verdict, of a person */
    bool unasked;       /* ... who has not said it: the time was up */
    struct view edited; /* what is run in the place of arguments */
    struct view said;   /* to the model, beside the verdict */
};

/* A call that the code of a call makes. Code that runs again asks again: what
 * is the same is the same call, whatever its number is then. */
struct code_call {
    struct view call;
    uint64_t number;  /* when it was made first */
    struct view hash; /* of tool and arguments */
    bool answered;
    bool failed;       /* data says why */
    struct view data;  /* JSON */
    uint64_t asked_as; /* its number in the run that goes on; 0: not yet */
};

struct terms_hash {
    unsigned char sha256[32];
};

/* Of messages that are left out: see summary.h. */
struct summary {
    struct view text;      /* empty: there is none */
    size_t until;          /* the place that it ends at, and */
    struct view of;        /* said_of then: it is none before another past */
    bool due;              /* one is asked for, up to: */
    size_t wanted;         /* that place, */
    struct view wanted_of; /* and said_of then */
    size_t made, failed;   /* in this job */
};

struct conversation {
    const struct job *job;
    struct arena arena;         /* of the records */
    json_t *messages;           /* without our own instructions */
    json_t *said;               /* in the session before: two of each job; NULL:
                                   nothing is shown */
    struct view said_of;        /* the blob that said is of; empty: of none */
    size_t given;               /* of messages: came with the job */
    size_t records;             /* of the journal: the index of the next one */
    uint64_t turn;              /* replies so far */
    bool over;                  /* the last reply is the answer, */
    bool cut;                   /* stopped by its length; */
    bool spent;                 /* or no other can be asked for: see last */
    const struct call *aborted; /* where a person has ended it */
    size_t idle;        /* replies in a row of which nothing could be done */
    size_t empty;       /* replies in a row that said nothing: idle, too */
    struct view answer; /* of the last reply, when there is nothing to do */
    struct view begun;  /* what was said of it in replies that have paused */
    json_t *parameters; /* of the model, that the job wants; NULL: none */
    json_t *schema;     /* that it has to fit; NULL: any text will do */
    json_t *output;     /* what fits it */
    size_t misfits;     /* answers that did not */
    struct err misfit;  /* what was wrong with the last one */
    bool files_there;   /* the session has been given the job's files */
    struct call *calls; /* of the last turn */
    size_t call_count;
    struct record *results;      /* the tool_results, in order */
    struct call_digest *digests; /* of each of these */
    size_t *places;              /* ... and its message */
    size_t result_count;
    struct view final;       /* by the code of the call that runs: JSON */
    struct terms_hash terms; /* of the last intent that had any */
    struct view last; /* why an answer was asked for, or could not be; empty:
                         it was not */
    struct code_call *code_calls; /* calls that code made, in order */
    size_t code_call_count;
    struct view reply_id; /* under which the endpoint keeps the reply to what
                             was sent last; empty: not known, or it has come */
    size_t kept;          /* of what was sent last, see window_cut(), */
    struct view kept_of;  /* and said_of then: it is a place behind that */
    uint64_t sent;        /* tokens of it, estimated */
    struct summary summary;
    uint64_t estimated; /* those of the last one that the endpoint counted, */
    uint64_t counted;   /* and as it did; 0: none yet */
    struct spending spending;
    uint64_t model_ms, tools_ms;
};

/* Borrows the job. Error: bad_field when its messages are not chat messages, or
 * its schema is none that can be checked. */
bool conversation_init(struct conversation *conversation, const struct job *job,
                       struct err *err);
void conversation_finish(struct conversation *conversation);

/* One record, encoded; nothing of it is borrowed. Error: internal, the journal
 * is not ours. */
bool conversation_apply(struct conversation *conversation, struct view record,
                        struct err *err);

/* What was said before, as the blob of that name has it: it stands before the
 * conversation from now on. said: a reference that is taken; nobody sees it
 * where the job brings its own messages, or begins anew. */
void conversation_recall(struct conversation *conversation, json_t *said,
                         struct view blob);

/* The last intent had these terms, JSON. */
bool conversation_knows(const struct conversation *conversation,
                        struct view terms);

/* What the job wants: the last message of the user among those that came with
 * it. NULL: there is none. */
const json_t *conversation_task(const struct conversation *conversation);

/* What is to be run: a person's, or the model's. */
struct view call_arguments(const struct call *call);

enum next_action conversation_next(const struct conversation *conversation);
/* A call of the turn, by our id. NULL: there is none. */
const struct call *conversation_find(const struct conversation *conversation,
                                     struct view id);
/* The call that NEXT_CALL means. */
const struct call *conversation_call(const struct conversation *conversation);

/* The call that code asks for under that number, if the journal knows it: one
 * of that call and hash which the run has not asked for yet. */
struct code_call *conversation_code_call(struct conversation *conversation,
                                         struct view call, uint64_t number,
                                         struct view hash);
/* The code of that call runs from its beginning. */
void conversation_rerun(struct conversation *conversation, struct view call);

/* The last text of the assistant; for kind code the value of the last cell, or
 * what it printed. Borrowed; may be empty. */
struct view conversation_answer(const struct conversation *conversation);

/* The model has said nothing that can be acted on, MAX_IDLE times in a row. */
bool conversation_is_idle(const struct conversation *conversation);

/* Kind code: the cell that did not end ok; NULL: none. */
const struct record *
conversation_failure(const struct conversation *conversation);

/* Cells that have left their variables in the session as it is now: run again,
 * in order, these give a fresh session the same state. */
struct earlier_cell {
    struct view call;
    struct view code;
    uint64_t number; /* of all cells of the job, from 1 */
};
struct earlier_cells {
    const struct earlier_cell *cells; /* in the conversation's arena */
    size_t count;
    size_t killed; /* between them: they are not run a second time */
};
struct earlier_cells
conversation_earlier_cells(struct conversation *conversation);
/* Cells that have ended, whatever has come of them. */
uint64_t conversation_cells(const struct conversation *conversation);

#endif
