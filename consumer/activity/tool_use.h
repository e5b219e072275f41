/* tool_use.h - one use of a tool other than Python: by the model
 * (tool_calls.c), or by the code of a cell (code_calls.c).
 *
 *   asked --> intent written --> call made --> result written --> answered
 *
 * There may be many at once. A call whose result is in the journal is not made
 * again, whichever consumer takes the job over. One that has only an intent
 * there may have been carried out: it is made again if the tool says that this
 * does no harm (tool->repeat); else whoever asked is told that the outcome is
 * not known. */
#ifndef CONSUMER_ACTIVITY_TOOL_USE_H
#define CONSUMER_ACTIVITY_TOOL_USE_H

#include "consumer/activity/activity.h"
#include "consumer/tools/tool_call.h"

struct tool_use;

/* What differs between calls of the model and calls of code. */
struct tool_side {
    /* Adds to the record of the intent, and to the event that tells of it. */
    void (*intend)(const struct tool_use *use, struct record *record,
                   struct event_data *data);
    /* Adds to the record of the result. observation: initialized, for a text
     * that the record borrows. */
    void (*result)(const struct tool_use *use, struct record *record,
                   struct buf *observation);
    /* The result is durable: gives it to whoever asked, and frees the use. */
    void (*answer)(struct tool_use *use);
};

/* The uses that go on in one activity. */
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
    struct tool_call *made;  /* NULL: not prepared yet, or over */
    char call[24];           /* id of the model's call: this one, or that of the
                                cell whose code calls */
    char id[48];             /* of this use, for events */
    char hash[65];           /* of tool and arguments; "": the model calls */
    uint64_t number; /* in the journal, among the calls of the code, from 1; 0:
                        the model calls */
    uint64_t asked_as; /* the number that the code now running gave it, which
                          waits for the answer; 0: no code waits */
    uint64_t begun_ms; /* by the loop's clock */
    struct buf data;   /* the value, JSON */
    struct err why;    /* why there is no value; ERR_NONE: there is one */
    struct view arguments; /* as they were written; borrowed, of code only until
                              tool_use_begin() returns */
    enum ruling ruling;    /* of a call of the model */
};

/* Makes a use and adds it to uses. */
struct tool_use *tool_use_new(struct tool_uses *uses, struct view call,
                              uint64_t number);
void tool_use_free(struct tool_use *use);
/* Frees all uses. Calls that run are given up; results on their way to the
 * journal still come there. */
void tool_uses_drop(struct tool_uses *uses);

/* Checks the arguments for use->tool and makes the call ready, but starts
 * nothing. Error: a sentence for whoever asks. */
bool tool_use_prepare(struct tool_use *use, struct view arguments,
                      struct err *err);
/* Of a use that is prepared: writes the intent, then makes the call. */
void tool_use_begin(struct tool_use *use);
/* The same when the journal has its intent already, of an attempt before or of
 * code that ran before: makes the call, or gives its outcome up as unknown. */
void tool_use_resume(struct tool_use *use);
/* The call is not made: writes a result that says why. */
void tool_use_fail(struct tool_use *use, const struct err *why);

#endif
