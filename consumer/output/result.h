/* result.h - makes the result of a job.
 *
 * A result has at most MAX_RESULT_BYTES. If it is larger, it is cut in this
 * order until it fits, and notes say so: long texts of cells, long messages,
 * the conversation, what cells displayed and wrote, the answer's middle, the
 * metadata. The lists of images and files are never cut, nor how each cell
 * ended. */
#ifndef CONSUMER_RESULT_H
#define CONSUMER_RESULT_H

#include "consumer/conversation/conversation.h"

/* How a job ends, as far as the conversation does not say it. All borrowed. */
struct job_outcome {
    struct view id;
    int status;        /* enum job_state, a terminal one */
    struct err why;    /* of failed, incomplete, cancelled; zeroed: no error */
    uint64_t attempts; /* starts of the job, this one included */
    uint64_t queued_ms, total_ms;
    struct view model, isolation; /* empty: no model, no executor was used */
    struct view answer;  /* as clients get it; empty: the conversation's */
    struct view unsaved; /* why the session could not be saved; empty: it was,
                            or there is nothing to save */
    struct view conversation; /* the blob of it; empty: it was not kept */
    struct view unkept;       /* why not, although the job asks for it */
    /* Of kind session: what is listed, of struct session_file; files that are
     * given out, of struct file_ref; the record that is shown. */
    struct list listing, files;
    struct session_record record;
    struct list metadata;                  /* if the job could not be read */
    const struct unknown_members *unknown; /* members that were unknown, if the
                                      job could not be read; may be NULL */
};

/* Initializes out. conversation: NULL or zeroed when the job could not even be
 * read.
 */
void result_write(struct buf *out, struct conversation *conversation,
                  const struct job_outcome *ending);

/* The data of the terminal event: initializes out. */
void result_event(struct buf *out, const struct conversation *conversation,
                  const struct job_outcome *ending);

/* The error as results and events carry it; borrows why. */
struct result_error result_error_of(const struct err *why);

#endif
