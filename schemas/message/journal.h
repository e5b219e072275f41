/* journal.h - what a conversation has done, so that another consumer can go on.
 *
 * A journal is a Redis list of records. The journal transition appends each at
 * the index that the consumer names, so that two consumers cannot both write
 * the same step. What a record says was done is never done again.
 *
 *   model_intent  the request with that hash is about to be sent. failed: it
 *                 was refused, and paying begins with the next one. failed,
 *                 with last: that limit allows no further request; for a
 *                 summary: the consumer goes on without it, for that reason
 *   model_sent    the endpoint has taken the request and keeps its reply, which
 *                 can be fetched by that id
 *   model_reply   the whole reply
 *   tool_intent   that call is about to be run
 *   tool_result   what the model is shown of the call, and what it left
 *   approval      a person's verdict on a call, before the call is run. approve
 *                 of the Redis library writes it, not a consumer
 *
 * When the code of a call makes calls itself, their records stand between the
 * two records of that call.
 *
 * An intent without its result means that nobody knows the outcome. The reply
 * to a model call is fetched if the endpoint keeps it; else the request is sent
 * again and counted (usage.repeated_calls). The executor is asked for the
 * outcome of a cell by its call id; if it has it no more, the cell is run again
 * in a fresh session. */
#ifndef SCHEMAS_MESSAGE_JOURNAL_H
#define SCHEMAS_MESSAGE_JOURNAL_H

#include "schemas/message/result.h"

enum record_kind {
    RECORD_MODEL_INTENT,
    RECORD_MODEL_REPLY,
    RECORD_TOOL_INTENT,
    RECORD_TOOL_RESULT,
    RECORD_APPROVAL,
    RECORD_MODEL_SENT,
};
extern const char *const record_kind_names[];

/* What a model is asked for. A summary is no turn: it takes the place of
 * messages that later requests leave out. */
enum record_purpose { PURPOSE_TURN, PURPOSE_SUMMARY };
extern const char *const record_purpose_names[];

/* What the consumer did about a model that repeats itself: nothing; it told the
 * model so in the result of the call; it refused the call. */
enum record_brake { BRAKED_NOT, BRAKED_HINT, BRAKED_FORBID };
extern const char *const record_brake_names[];

/* A person's verdict on a call. */
enum verdict {
    VERDICT_NONE,
    VERDICT_APPROVE,
    VERDICT_REJECT,     /* it is not run; the model is told that it may not */
    VERDICT_EDIT,       /* something else is run in its place */
    VERDICT_SKIP,       /* it is not run, the model goes on */
    VERDICT_REGENERATE, /* the reply is void, the model is asked again */
    VERDICT_ASK,        /* it is not run, the model is told something */
    VERDICT_ABORT,      /* the job ends */
};
extern const char *const verdict_names[];

/* The members of all kinds in one struct; behind each, the kinds that have it.
 */
struct record {
    int kind; /* enum record_kind */
    uint64_t attempt;
    struct view span;    /* of the attempt that wrote it, where that is traced;
                            so the next attempt's span can link to it */
    uint64_t turn;       /* from 1 */
    int purpose;         /* model_*: enum record_purpose; of a summary, turn is
                            the one that waits for it */
    struct view hash;    /* SHA-256. model_intent: of the request body; calls
                            of code: of tool and arguments */
    struct view message; /* model_reply: the assistant message, JSON text */
    struct view finish_reason;
    struct usage usage;      /* model_reply, or a refusal that was counted */
    struct view model;       /* model_*: name of the endpoint */
    struct view reply_id;    /* model_sent: the endpoint's own */
    uint64_t reserved;       /* model_intent: tokens that it may take, request
                                and reply, as the endpoint counts */
    uint64_t cost;           /* model_intent: micro-dollars, of the same */
    uint64_t reply;          /* model_intent: of reserved, tokens of the reply;
                                0: the job has no max_output_tokens */
    struct view call;        /* tool_*: unique in the job, "turn.index" */
    uint64_t number;         /* tool_*: of a call that the code of that call
                                makes, from 1; 0: the call itself */
    bool failed;             /* model_intent: see above. tool_result: it was
                                not carried out, observation says why; of a
                                call of code it is the value else, JSON.
                                approval: nobody has said it in time */
    struct view last;        /* model_intent: why no tools were offered, but an
                                answer asked for: a code */
    uint64_t kept;           /* model_intent: where what is sent of the
                                messages begins, behind their head; of a
                                summary, where what it stands for ends */
    uint64_t tokens;         /* model_intent: of what is sent, estimated */
    uint64_t counted;        /* model_intent that was refused as too long:
                                tokens of the one before it, as the endpoint
                                counts; 0: it did not say */
    struct view terms;       /* model_intent: under which it is asked, JSON;
                                empty: those of the intent before it */
    struct view history;     /* model_intent: the blob of what was said in the
                                session before; empty: nothing was */
    struct list shown;       /* model_intent: of struct view, the blobs of the
                                pictures that it holds */
    int brake;               /* tool_result: enum record_brake */
    struct view call_id;     /* the model's own tool_call_id */
    struct view tool;        /* name, as the model wrote it */
    struct view arguments;   /* tool_intent: as the model wrote them; approval:
                                text of edit and ask */
    struct view observation; /* what the model is shown: of a call, or that its
                                reply was cut off; approval: a note */
    int verdict;             /* approval: enum verdict */
    struct cell cell;        /* tool_result of execute_python_code */
    bool emptied; /* the files that cells had written were gone by its end */
    struct list images; /* of struct image_ref */
    struct list files;  /* of struct file_ref */
    uint64_t ms;
    uint64_t item;           /* model_reply: the number of its message, see
                                item.h; 0: it has no text. tool_*: of the call;
                                0: it is no item, or (tool_result) the intent
                                has said it */
    uint64_t reasoning_item; /* model_reply: of its reasoning; 0: none came */
    uint64_t function_item;  /* model_reply: of its first call of a function of
                                the caller; the others follow; 0: none */
};
extern const struct schema schema_record;

#endif
