/* tool.h - what the code of a cell asks of the world outside, and how often.
 *
 *   guest --TOOL--> tool_ask() --FRAME_TOOL--> who listens to the call
 *   guest <-ANSWER- tool_answer() <-FRAME_ANSWER-
 *
 * The guest is believed nothing: a call beyond a limit is answered by an error
 * that names the limit. What a tool is, and whether this code may call it,
 * is the consumer's to know. Open calls wait for whoever listens next.
 *
 * While a call is open the cell's clock stands, in all tool_ms of a cell at
 * most: then it goes on whatever is open. */
#ifndef EXECUTOR_WARDEN_TOOL_H
#define EXECUTOR_WARDEN_TOOL_H

#include "schemas/message/frame.h"
#include "schemas/message/limits.h"

struct session;

struct open_call {
    uint64_t number;   /* to whoever listens; 0: free */
    uint64_t asked_as; /* the guest's own number for it */
    struct arena arena;
    struct view name, data;
};

struct tools { /* of the cell that runs */
    bool offered;
    struct open_call open[MAX_OPEN_QUESTIONS];
    size_t waits;        /* calls that are open, and what else it waits for */
    uint64_t asked;      /* refused ones, too */
    uint64_t last;       /* number: also in a cell that runs again they rise, so
                            that no answer to its first run meets the second */
    double left;         /* calls that may come at once */
    uint64_t counted_ms; /* when that was so */
    uint64_t due_ms;     /* the end of the cell's time */
    uint64_t stands_ms;  /* since then its clock stands; 0: it goes */
    uint64_t stood_ms;   /* in all, before that */
};

/* A cell starts, or starts again, whose state has just been entered. */
void tool_begin(struct session *session, bool offered);
/* It has ended, or is being ended: what is open is dropped. */
void tool_end(struct session *session);

void tool_ask(struct session *session, const struct guest_frame *frame);
/* FRAME_ANSWER. One that comes too late is ignored. */
void tool_answer(struct session *session, const struct frame *frame);
/* Somebody else listens now. */
void tool_ask_again(struct session *session);

/* The code waits for something else: the clock stands as for a call. */
void tool_hold(struct session *session);
void tool_release(struct session *session);

/* The state's deadline has passed: the clock stood, and goes on now. False:
 * it went, the time is over. */
bool tool_goes_on(struct session *session);

#endif
