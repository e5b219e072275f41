/* log.h - one JSON line on stderr for every decision. */
#ifndef EXECUTOR_BASE_LOG_H
#define EXECUTOR_BASE_LOG_H

/* {"at": ms since 1970, "what": what, "who": who, "text": sentence}. who is
 * the session or file concerned; NULL: nobody in particular. */
void log_line(const char *what, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
