/* held_output.h - what a cell has put out and may take back, until it ends.
 *
 * What is printed cannot be unprinted. So what follows a clear_output() is
 * held, and displays that have an id, of which each update takes the place of
 * the one before: they are shown as they stand when the cell ends. */
#ifndef PRODUCER_CLI_HELD_OUTPUT_H
#define PRODUCER_CLI_HELD_OUTPUT_H

#include "schemas/message/buf.h"
#include "schemas/message/limits.h"
#include "schemas/message/result.h"

struct held_display {
    struct buf id, text;
};

struct held_output {
    bool cleared;          /* its text is held, too */
    struct buf streams[2]; /* stdout, stderr */
    struct held_display displays[MAX_DISPLAYS];
    size_t count;
};

void held_output_init(struct held_output *held);
void held_output_finish(struct held_output *held);
/* Another cell. */
void held_output_reset(struct held_output *held);

void held_output_clear(struct held_output *held);
/* False: it is not held, and to be shown now. */
bool held_output_text(struct held_output *held, bool errors, struct view text);
bool held_output_display(struct held_output *held,
                         const struct display *display);
bool held_output_update(struct held_output *held,
                        const struct display *display);

#endif
