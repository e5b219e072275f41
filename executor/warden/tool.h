/* tool.h - what the code of a cell asks of the world outside, and how often.
 *
 *   guest --TOOL--> tool_ask() --FRAME_TOOL--> who listens to the call
 *   guest <-ANSWER- tool_answer() <-FRAME_ANSWER-
 *
 * A call beyond a limit is answered by an error that names the limit. What a
 * tool is, and whether this code may call it, is the consumer's to know. When a
 * consumer goes away, open calls wait for the next one that listens.
 *
 * While a call is open, the cell's clock stands still, for tool_ms
 * (--tool-time) in all at most. Then the clock goes on, even if calls are
 * open. */
#ifndef EXECUTOR_WARDEN_TOOL_H
#define EXECUTOR_WARDEN_TOOL_H

#include "schemas/message/frame.h"
#include "schemas/message/limits.h"

struct session;

struct open_call {
    uint64_t number;    /* for the consumer; 0: this place is free */
    uint64_t asked_as;  /* the guest's own number for it */
    struct arena arena; /* of name and data */
    struct view name, data;
};

struct tools {    /* of the cell that runs */
    bool offered; /* the run came with tools */
    struct open_call open[MAX_OPEN_QUESTIONS];
    size_t waits;        /* open calls and installations that it waits for */
    uint64_t asked;      /* calls so far, refused ones, too */
    uint64_t last;       /* number: also in a cell that runs again they rise, so
                            that no answer to its first run meets the second */
    double left;         /* calls that may come at once */
    uint64_t counted_ms; /* when that was so */
    uint64_t due_ms;     /* the end of the cell's time, as the clock goes now */
    uint64_t stands_ms;  /* since when the clock stands; 0: it goes */
    uint64_t stood_ms;   /* how long it stood before, in all */
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

/* The state's deadline has passed. True: the clock stood, and goes on now.
 * False: the clock went, so the time is over. */
bool tool_goes_on(struct session *session);

#endif
