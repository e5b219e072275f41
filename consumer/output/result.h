/* result.h - makes the result of a job, which is written once.
 *
 * A result is at most MAX_RESULT_BYTES. What does not fit is cut in this order,
 * and notes say so: long texts of cells, long tool messages, the conversation,
 * what cells displayed and wrote, the answer's tail. Images and files of the
 * job never are: they are names; nor is how each cell ended. */
#ifndef CONSUMER_RESULT_H
#define CONSUMER_RESULT_H

#include "consumer/conversation/conversation.h"

struct job_outcome {
    struct view id;
    int status;     /* enum job_state, a terminal one */
    struct err why; /* failed, incomplete, cancelled */
    uint64_t attempts;
    uint64_t queued_ms, total_ms;
    struct view model, isolation;
    struct view answer;         /* as clients get it; empty: as it was said */
    struct view unsaved;        /* why the session is not; empty: it is */
    struct list listing, files; /* kind session: of struct session_file,
                                   file_ref */
    struct session_record record;
    struct list metadata; /* of a job that could not be read; else the job's */
    const struct unknown_members *unknown; /* the same; may be NULL */
};

/* Initializes out. conversation: NULL or unfinished when the job could not
 * even be read. */
void result_write(struct buf *out, struct conversation *conversation,
                  const struct job_outcome *ending);

/* The data of the terminal event: initializes out. */
void result_event(struct buf *out, const struct conversation *conversation,
                  const struct job_outcome *ending);

/* The error as results and events carry it; borrows why. */
struct result_error result_error_of(const struct err *why);

#endif
