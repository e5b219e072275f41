/* log_event.h - every event that a program of quern logs, as one table: its
 * level, and a sentence about it.
 *
 * error    somebody has to do something, or jobs suffer
 * warning  something is wrong that may pass, or that one job suffers from
 * info     what operators want to read afterwards
 * debug    the steps between
 *
 * A sentence names members of its line in braces: "{why}". A part in brackets
 * is left out when a member in it is missing or empty: "[: {why}]". */
#ifndef SCHEMAS_SERVICE_LOG_EVENT_H
#define SCHEMAS_SERVICE_LOG_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/message/buf.h"

enum log_severity {
    SEVERITY_ERROR,
    SEVERITY_WARNING,
    SEVERITY_INFO,
    SEVERITY_DEBUG,
};

/* By their values; end in NULL: choices of the setting log-level. */
extern const char *const log_severity_names[];

struct log_event {
    const char *what; /* job.finished */
    enum log_severity severity;
    const char *sentence;
};

/* Sorted by what. */
extern const struct log_event log_events[];
extern const size_t log_event_count;

/* Lines of a lesser severity are not written from now on; info at first. */
void log_set_least(enum log_severity least);
/* Lines written so far. */
uint64_t log_lines(enum log_severity severity);

/* Whether a line is written now, which is counted as written. Of an error or a
 * warning at most LOG_MOST in LOG_SPAN_MS are; left_out: how many were not
 * since the last one. now_ms: of a monotonic clock. */
enum { LOG_MOST = 50, LOG_SPAN_MS = 10000 };
bool log_event_is_due(const struct log_event *event, uint64_t now_ms,
                      uint64_t *left_out);

/* NULL: the table has none of that name. */
const struct log_event *log_event_find(const char *what);

/* The value of a member, as text; false: the line has none of that name. */
typedef bool log_member(const void *owner, const char *name, struct buf *out);

/* Writes the sentence with the members in it. */
void log_event_say(const struct log_event *event, struct buf *out,
                   log_member *member, const void *owner);

#endif
