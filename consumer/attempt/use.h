/* use.h - one use of a tool other than Python: by the model (use_model.c), or
 * by the code of a cell (use_code.c).
 *
 *   asked --> intent written --> call made --> result written --> answered
 *
 * Many at once. What the journal knows is not done again, whoever takes the job
 * over. A call whose outcome is not known is made again if the tool says that
 * this does no harm; else whoever asked is told. */
#ifndef CONSUMER_USE_H
#define CONSUMER_USE_H

#include "consumer/attempt/attempt.h"
#include "consumer/tools/tool_call.h"

/* What is of one side alone. */
struct use_side {
    /* Adds to the records, and to the events that tell of them. */
    void (*intend)(const struct use *use, struct record *record,
                   struct event_data *data);
    /* observation: what it may be written to. */
    void (*result)(const struct use *use, struct record *record,
                   struct buf *observation);
    /* The result is in the journal; frees the use. */
    void (*answer)(struct use *use);
};

struct use {
    struct use *next; /* of the attempt's */
    struct attempt *attempt;
    const struct use_side *side;
    const struct tool *tool; /* NULL: there is none of that name */
    struct tool_call *made;  /* NULL: not yet, or over */
    char call[24];           /* the model's: its own, or that of the code */
    char id[48];             /* of this one, for events */
    char hash[65];           /* of tool and arguments; "" of the model's */
    uint64_t number;         /* in the journal; 0: the model's */
    uint64_t asked_as;       /* in the run that goes on; 0: nobody waits */
    uint64_t begun_ms;
    struct buf data;       /* the value, JSON */
    struct err why;        /* there is none */
    struct view arguments; /* the model's, as it wrote them */
    enum ruling ruling;    /* of a call of the model */
};

/* Of the attempt from then on. */
struct use *use_new(struct attempt *attempt, const struct use_side *side,
                    struct view call, uint64_t number);
void use_free(struct use *use);

/* Makes the call ready, with use->tool. Error: a sentence for whoever asks. */
bool use_prepare(struct use *use, struct view arguments, struct err *err);
/* The intent, then the call; or, after a crash, what the tool says. */
void use_begin(struct use *use);
void use_resume(struct use *use);
/* It is not made: the result says why. */
void use_fail(struct use *use, const struct err *why);

#endif
