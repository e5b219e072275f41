/* held.h - what a cell has put out and may take back, until it ends.
 *
 * What is printed cannot be unprinted. So what follows a clear_output() is
 * held, and displays that have an id, of which each update takes the place of
 * the one before: they are shown as they stand when the cell ends. */
#ifndef PRODUCER_CLI_HELD_H
#define PRODUCER_CLI_HELD_H

#include "schemas/message/buf.h"
#include "schemas/message/limits.h"
#include "schemas/message/result.h"

struct held_display {
    struct buf id, text;
};

struct held {
    bool cleared;          /* its text is held, too */
    struct buf streams[2]; /* stdout, stderr */
    struct held_display displays[MAX_DISPLAYS];
    size_t count;
};

void held_init(struct held *held);
void held_finish(struct held *held);
/* Another cell. */
void held_reset(struct held *held);

void held_clear(struct held *held);
/* False: it is not held, and to be shown now. */
bool held_text(struct held *held, bool errors, struct view text);
bool held_display(struct held *held, const struct display *display);
bool held_update(struct held *held, const struct display *display);

#endif
