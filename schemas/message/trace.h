/* trace.h - the trace that a job belongs to: W3C Trace Context.
 *
 * See https://www.w3.org/TR/trace-context/. A producer gives a job the two
 * headers that it would give an HTTP request, and quern hands them on. */
#ifndef SCHEMAS_MESSAGE_TRACE_H
#define SCHEMAS_MESSAGE_TRACE_H

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum {
    TRACE_ID_LEN = 32,     /* lower-case hexadecimal digits */
    TRACE_PARENT_LEN = 16, /* the same */
    MAX_TRACE_MEMBERS = 32 /* of a tracestate, each of another key */
};

/* The headers, borrowed. Empty: there is none; state never stands alone. */
struct trace {
    struct view parent; /* traceparent: version-trace-parent-flags */
    struct view state;  /* tracestate: key=value,... */
    bool exact; /* parent names a span of ours: a request has it as it is, not
                   with another parent id */
};

/* Error: bad_field, which names traceparent or the member of tracestate. */
bool trace_check(const struct trace *trace, struct err *err);

/* Parts of a traceparent that trace_check() has accepted. Empty of an empty
 * one. */
struct view trace_id(struct view traceparent);
struct view trace_parent(struct view traceparent); /* the id of the span */
struct view trace_flags(struct view traceparent);  /* two digits */

#endif
