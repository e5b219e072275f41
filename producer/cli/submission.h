/* submission.h - the job that the options describe: from --job, or made of
 * them. */
#ifndef PRODUCER_CLI_SUBMISSION_H
#define PRODUCER_CLI_SUBMISSION_H

#include "producer/cli/cli.h"

/* The cells of an exec, borrowed from its text. One more than MAX_CELLS fits,
 * so that the library refuses too many. */
struct cells {
    const char *items[MAX_CELLS + 1];
    size_t count;
};

/* Zeroed, submission_read() fills it; submission_finish() in any case. It must
 * stay where it is, for options points into it. */
struct submission {
    char *text; /* the job, JSON; NULL: the jobs are those of --jobs */
    struct quern_file files[MAX_TEXTS];
    enum quern_priority priority;
    struct quern_submit_options options; /* borrows from the members above, and
                                            from the options of the command */
    char note[QUERN_NOTE]; /* what the library says of unknown members */
};

/* question: the user's words, or NULL; cells: code in place of a question, or
 * NULL. Errors: bad_field, bad_setting, too_large. */
bool submission_read(struct submission *submission,
                     const struct options *options, const char *question,
                     const struct cells *cells, struct err *err);
void submission_finish(struct submission *submission);
/* Prints the note on members that no job has, if there is one: the job may not
 * be what was meant, or they are why it was refused. */
void submission_note(const struct submission *submission, struct app *app);

/* Reads the job and submits it; prints the note, and keeps the id in app->job.
 * existed may be NULL. */
bool submission_send(struct app *app, const char *question,
                     const struct cells *cells, struct quern_id *id,
                     bool *existed, struct quern_error *error);

#endif
