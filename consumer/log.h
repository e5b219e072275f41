/* log.h - one JSON line on stderr for every decision. */
#ifndef CONSUMER_LOG_H
#define CONSUMER_LOG_H

#include <jansson.h>
#include <uv.h>

/* {"at": ms since 1970, "what": what, ...}: the rest by jansson's json_pack()
 * format, an object: log_line("job.finished", "{s:s, s:I}", "job", id, ...).
 * Never a secret, never at length what a job or a model said. */
void log_line(const char *what, const char *format, ...);

/* From now on lines leave once a turn of the loop, before it waits, and when an
 * assertion fails: a busy consumer writes many. Close turn when the loop has
 * run out. */
void log_gather(uv_loop_t *loop, uv_prepare_t *turn);

#endif
