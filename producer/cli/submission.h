/* submission.h - the job that the options describe: from --job, or made of
 * them. */
#ifndef PRODUCER_CLI_SUBMISSION_H
#define PRODUCER_CLI_SUBMISSION_H

#include "producer/cli/cli.h"

struct cells { /* of Python; more than MAX_CELLS are refused */
    const char *items[MAX_CELLS + 1];
    size_t count;
};

struct submission {
    char *text; /* JSON; NULL: the jobs are those of --jobs */
    struct quern_file files[MAX_TEXTS];
    enum quern_priority priority;
    struct quern_submit_options
        options;           /* borrows from these, and the options */
    char note[QUERN_NOTE]; /* on members of it that nobody knows */
};

/* question: the user's words, or NULL; cells instead, or NULL. */
bool submission_read(struct submission *submission,
                     const struct options *options, const char *question,
                     const struct cells *cells, struct err *err);
void submission_finish(struct submission *submission);
/* That members were passed over: the job may not be what was meant, or is
 * refused because of them. */
void submission_note(const struct submission *submission, struct app *app);

/* The same, submitted; existed may be NULL. */
bool submission_send(struct app *app, const char *question,
                     const struct cells *cells, struct quern_id *id,
                     bool *existed, struct quern_error *error);

#endif
