/* output.h - what a session writes to stdout or stderr: a pipe, drained. */
#ifndef EXECUTOR_WARDEN_OUTPUT_H
#define EXECUTOR_WARDEN_OUTPUT_H

#include "executor/warden/loop.h"
#include "schemas/message/view.h"

enum { OUTPUT_MAX_BYTES = 8 << 20 }; /* of one cell, passed on */

struct output {
    struct watch *pipe;
    struct view stream;
    uint64_t written; /* in this cell: passed on or dropped */
    void (*on_bytes)(void *owner, struct view stream, struct view bytes);
    void *owner;
};

/* Takes fd. */
void output_init(struct output *output, uv_loop_t *loop, int fd,
                 struct view stream,
                 void (*on_bytes)(void *owner, struct view stream,
                                  struct view bytes),
                 void *owner);
void output_finish(struct output *output); /* accepts a zeroed one */

/* Bytes come by themselves while it listens. */
void output_listen(struct output *output, bool on);
/* All that was written before this call. A writer that never stops is not
 * followed. */
void output_drain(struct output *output);
/* A cell begins: drops what came between cells. */
void output_restart(struct output *output);

#endif
