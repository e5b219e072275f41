/* log.h - one line for every decision, as schemas/service/log.h has them. */
#ifndef EXECUTOR_BASE_LOG_H
#define EXECUTOR_BASE_LOG_H

/* {"ts", "level", "what", "who", "text"}: who is the session or file concerned;
 * NULL: nobody in particular. The format gives "{text}" in the sentence that
 * the table has of the event. */
void log_line(const char *what, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
