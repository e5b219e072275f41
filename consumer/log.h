/* log.h - one JSON line on stderr for every decision. */
#ifndef CONSUMER_LOG_H
#define CONSUMER_LOG_H

#include <jansson.h>

/* {"at": ms since 1970, "what": what, ...}: the rest by jansson's json_pack()
 * format, an object: log_line("job.finished", "{s:s, s:I}", "job", id, ...).
 * Never a secret, never at length what a job or a model said. */
void log_line(const char *what, const char *format, ...);

#endif
