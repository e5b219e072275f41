/* held_output.h - output of a running cell that the cell may still take back.
 *
 * What is printed cannot be taken back. So two kinds of output are held until
 * the cell ends, and shown as they stand then: all that follows a
 * clear_output(), which another one may clear, and displays that have an id,
 * which an update may replace. */
#ifndef PRODUCER_CLI_HELD_OUTPUT_H
#define PRODUCER_CLI_HELD_OUTPUT_H

#include "schemas/message/buf.h"
#include "schemas/message/limits.h"
#include "schemas/message/result.h"

/* id: "" when it is held only for a clear_output(). */
struct held_display {
    struct buf id, text;
};

struct held_output {
    bool cleared;          /* there was a clear_output(): all output is held */
    struct buf streams[2]; /* stdout, stderr */
    struct held_display displays[MAX_DISPLAYS];
    size_t count;
};

void held_output_init(struct held_output *held);
void held_output_finish(struct held_output *held);
/* Drops all, for the next cell. */
void held_output_reset(struct held_output *held);

/* The cell has called clear_output(). */
void held_output_clear(struct held_output *held);
/* Each of these holds the output, or gives false: it is not held, and to be
 * shown now. An update is held when its display is. */
bool held_output_text(struct held_output *held, bool errors, struct view text);
bool held_output_display(struct held_output *held,
                         const struct display *display);
bool held_output_update(struct held_output *held,
                        const struct display *display);

#endif
