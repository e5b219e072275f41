/* follow.h - shows a job while it runs, to its end: run, exec, watch.
 *
 * On a terminal: text as it comes, code and its output quoted, images saved as
 * they appear. Into a pipe: the answer alone, when it is there. With --json:
 * every event as a line, {"type": "saved", ...}, {"type": "held", ...}, and
 * last
 * {"type": "result", "result": {...}}. */
#ifndef PRODUCER_CLI_FOLLOW_H
#define PRODUCER_CLI_FOLLOW_H

#include "producer/cli/submission.h"

/* Follows a job to its end, and gives the exit status. after: seq of the last
 * event that the user has seen; 0: none. plain: the job is code, whose output
 * goes to our own stdout and stderr as it comes. dir: where to save images and
 * files; NULL: nowhere. The first Ctrl-C prints how to go on later, the second
 * one ends the command; the job goes on in any case. */
int follow_job(struct app *app, const char *id, uint64_t after, bool plain,
               const char *dir);

/* Submits a question, or cells, and follows the job from its beginning. */
int follow_new(struct app *app, const char *question,
               const struct cells *cells);

#endif
