/* follow.h - a job on the terminal while it runs, to its end.
 *
 * On a terminal: text as it comes, code and its output quoted, images saved as
 * they appear. Into a pipe: the answer alone, when it is there. With --json:
 * every event as a line, {"type": "saved", ...}, {"type": "held", ...}, and
 * last
 * {"type": "result", "result": {...}}. */
#ifndef PRODUCER_CLI_FOLLOW_H
#define PRODUCER_CLI_FOLLOW_H

#include "producer/cli/submission.h"

/* plain: the job is code, whose output goes to our own stdout and stderr as it
 * comes. after: the seq of the last event that the user has seen. dir: where
 * to save, or NULL. Gives the exit code. The first Ctrl-C tells how to go on
 * later, the second one leaves; the job goes on in any case. */
int follow_job(struct app *app, const char *id, uint64_t after, bool plain,
               const char *dir);

/* The same from the beginning: submits a question, or cells. */
int follow_new(struct app *app, const char *question,
               const struct cells *cells);

#endif
