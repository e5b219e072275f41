/* output.h - what a session writes to stdout or stderr: a pipe, drained.
 *
 * Bytes are passed on as they come, up to a maximum. Further bytes are counted,
 * and only the last of them follow when the cell is over, because a program
 * that writes much tends to write what matters last. */
#ifndef EXECUTOR_WARDEN_OUTPUT_H
#define EXECUTOR_WARDEN_OUTPUT_H

#include "executor/base/loop.h"
#include "schemas/message/view.h"

enum {
    OUTPUT_MAX_BYTES = 8 << 20,  /* of one cell, passed on as it comes */
    OUTPUT_END_BYTES = 16 << 10, /* and the last of what comes after those */
};

/* offset: of the bytes in the stream of this cell; some before them may be left
 * out. bytes are borrowed for the call. */
typedef void output_bytes(void *owner, struct view stream, uint64_t offset,
                          struct view bytes);

struct output_pipe {
    struct watch *pipe;
    struct view stream;
    uint64_t written; /* in this cell: passed on or dropped */
    char *end;        /* the last bytes beyond the maximum: a ring of
                         OUTPUT_END_BYTES; NULL: there are none */
    output_bytes *on_bytes;
    void *owner;
};

/* Takes fd; borrows stream for its life. */
void output_init(struct output_pipe *output, uv_loop_t *loop, int fd,
                 struct view stream, output_bytes *on_bytes, void *owner);
void output_finish(struct output_pipe *output); /* accepts a zeroed one */

/* Bytes come by themselves while it listens. */
void output_listen(struct output_pipe *output, bool on);
/* Passes on all that was written before this call. A writer that never stops is
 * not followed. */
void output_drain(struct output_pipe *output);
/* The cell is over: passes on the end of what was beyond the maximum. */
void output_tell_end(struct output_pipe *output);
/* A cell begins: drops what came between cells. */
void output_restart(struct output_pipe *output);

#endif
