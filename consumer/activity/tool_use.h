/* tool_use.h - one use of a tool other than Python: by the model
 * (tool_calls.c), or by the code of a cell (code_calls.c).
 *
 *   asked --> intent written --> call made --> result written --> answered
 *
 * Many at once. What the journal knows is not done again, whoever takes the job
 * over. A call whose outcome is not known is made again if the tool says that
 * this does no harm; else whoever asked is told. */
#ifndef CONSUMER_ACTIVITY_TOOL_USE_H
#define CONSUMER_ACTIVITY_TOOL_USE_H

#include "consumer/activity/activity.h"
#include "consumer/tools/tool_call.h"

struct tool_use;

/* What is of one side alone. */
struct tool_side {
    /* Adds to the records, and to the events that tell of them. */
    void (*intend)(const struct tool_use *use, struct record *record,
                   struct event_data *data);
    /* observation: what it may be written to. */
    void (*result)(const struct tool_use *use, struct record *record,
                   struct buf *observation);
    /* The result is in the journal; frees the use. */
    void (*answer)(struct tool_use *use);
};

/* Of one activity. */
struct tool_uses {
    struct activity *activity;
    const struct tool_side *side;
    struct tool_use *first;
};

struct tool_use {
    struct tool_use *next;
    struct tool_uses *uses;
    struct attempt *attempt;
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

/* One of uses from then on. */
struct tool_use *tool_use_new(struct tool_uses *uses, struct view call,
                              uint64_t number);
void tool_use_free(struct tool_use *use);
/* Nobody waits for them any more. */
void tool_uses_drop(struct tool_uses *uses);

/* Makes the call ready, with use->tool. Error: a sentence for whoever asks. */
bool tool_use_prepare(struct tool_use *use, struct view arguments,
                      struct err *err);
/* The intent, then the call; or, after a crash, what the tool says. */
void tool_use_begin(struct tool_use *use);
void tool_use_resume(struct tool_use *use);
/* It is not made: the result says why. */
void tool_use_fail(struct tool_use *use, const struct err *why);

#endif
