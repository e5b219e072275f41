/* log.h - one JSON line on stderr for every decision, so that operators can
 * filter them by "what" and by job. */
#ifndef SCHEMAS_LOG_H
#define SCHEMAS_LOG_H

#include <jansson.h>
#include <uv.h>

/* Writes {"at": ms since 1970, "what": what, ...}. The rest is given as an
 * object in the format of jansson's json_pack(): log_line("job.finished",
 * "{s:s, s:I}", "job", id, ...). Never write a secret, nor long texts of a job
 * or a model. */
void log_line(const char *what, const char *format, ...);

/* The same of a job: {"at", "what", "job", "trace", ...}. trace: the id of its
 * trace, 32 hexadecimal digits; "": it has none, and the line has no member of
 * that name. */
void log_job_line(const char *job, const char *trace, const char *what,
                  const char *format, ...);

/* Lines that were written so far. */
unsigned long long log_lines(void);

/* From now on lines are gathered, and written once in each iteration of the
 * loop, before it waits, and at a failed assertion: a busy consumer has many.
 * The caller closes turn when the loop has run out. */
void log_gather(uv_loop_t *loop, uv_prepare_t *turn);

#endif
