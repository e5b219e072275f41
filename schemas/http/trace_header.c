/* trace_header.c - a job's trace in the HTTP requests that are made for it. */
#include "schemas/http/trace_header.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>

static bool is_set(const char *const *lines)
{
    for (; lines && *lines; lines++)
        if (strncasecmp(*lines, "traceparent:", 12) == 0 ||
            strncasecmp(*lines, "tracestate:", 11) == 0)
            return true;
    return false;
}

/* A parent id of zeros would not be valid. */
static uint64_t parent_new(void)
{
    uint64_t parent = 0;

    while (parent == 0)
        if (getrandom(&parent, sizeof(parent), 0) != (ssize_t)sizeof(parent))
            abort(); /* so few bytes are never cut short */
    return parent;
}

/* Of a later version than 00 only these parts are known to mean the same. */
bool trace_header_write(struct trace_lines *lines, const struct trace *trace,
                        const char *const *others)
{
    *lines->parent = *lines->state = '\0';
    if (trace->parent.len == 0 || is_set(others))
        return false;
    if (trace->exact)
        snprintf(lines->parent, sizeof(lines->parent), "traceparent: %.*s",
                 VIEW_ARG(trace->parent));
    else
        snprintf(lines->parent, sizeof(lines->parent),
                 "traceparent: 00-%.*s-%016" PRIx64 "-%.*s",
                 VIEW_ARG(trace_id(trace->parent)), parent_new(),
                 VIEW_ARG(trace_flags(trace->parent)));
    if (trace->state.len > 0)
        snprintf(lines->state, sizeof(lines->state), "tracestate: %.*s",
                 VIEW_ARG(trace->state));
    return true;
}
