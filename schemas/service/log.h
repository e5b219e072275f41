/* log.h - one line for every decision, so that operators can filter by "what"
 * and by job.
 *
 * On stderr it is an object of JSON:
 *
 *   {"ts":"2026-11-28T19:02:11.184Z","level":"info","what":"job.finished",
 *    "worker":"host.1","job":"01a2...","tenant":"acme",...,"text":"..."}
 *
 * Under systemd it is an entry of the journal: the sentence, its priority, and
 * each member as a field (QUERN_JOB). Level and sentence come from the table of
 * log_event.h. An error or a warning that comes again and again is not written
 * each time; "left_out" of the next one says how often.
 *
 * Never log a secret, nor long texts of a job or a model. */
#ifndef SCHEMAS_LOG_H
#define SCHEMAS_LOG_H

#include <jansson.h>
#include <uv.h>

#include "schemas/service/log_event.h"

/* Whose line it is. Members that are empty are left out. */
struct log_job {
    const char *job;   /* its id */
    const char *trace; /* 32 hexadecimal digits */
    struct view queue, tenant, session;
};

/* All lines have it from now on, as "worker". Borrows the name. */
void log_set_worker(const char *name);

/* The members are given as an object in the format of jansson's json_pack():
 * log_line("redis.lost", "{s:s}", "why", text). */
void log_line(const char *what, const char *format, ...);
void log_job_line(const struct log_job *job, const char *what,
                  const char *format, ...);

/* From now on lines are gathered, and written once in each iteration of the
 * loop, before it waits, and at a failed assertion: a busy consumer has many.
 * The caller closes turn when the loop has run out. */
void log_gather(uv_loop_t *loop, uv_prepare_t *turn);

#endif
