/* trace_header.h - a job's trace in the HTTP requests that are made for it. */
#ifndef SCHEMAS_TRACE_HEADER_H
#define SCHEMAS_TRACE_HEADER_H

#include "schemas/message/limits.h"
#include "schemas/message/trace.h"

/* Lines as HTTP takes them; "": none. */
struct trace_lines {
    char parent[80];
    char state[sizeof("tracestate: ") + MAX_TRACESTATE_BYTES];
};

/* Writes "traceparent: ..." with the trace id and the flags of the job and a
 * random parent id, another one each time, or as it is (trace->exact); and
 * "tracestate: ..." as it came. False, and both are empty: the job has no
 * trace, or others ("Name: value" lines, NULL ends; or NULL) has one of these
 * headers, which then is the operator's choice. */
bool trace_header_write(struct trace_lines *lines, const struct trace *trace,
                        const char *const *others);

#endif
