/* tracer.h - a consumer's traces: spans that are finished go to the collector
 * that the operator has set, without anything waiting for it.
 *
 *   attempts --span_finish()--> exporter --HTTP--> collector
 *
 * Metrics tell how many spans were sent and lost: tracer_counts(). */
#ifndef CONSUMER_TRACE_TRACER_H
#define CONSUMER_TRACE_TRACER_H

#include <uv.h>

#include "consumer/trace/otlp.h"
#include "consumer/trace/span.h"

struct tracer;

/* NULL: no collector is set. Borrows http, which outlives it. instance: the
 * consumer's name. */
struct tracer *tracer_new(uv_loop_t *loop, struct http *http,
                          const struct trace_settings *settings,
                          const char *instance);

/* Where attempts write their spans; NULL: traces are off. */
struct span_out *tracer_out(struct tracer *tracer);

/* Zeros when traces are off. */
struct export_counts tracer_counts(const struct tracer *tracer);

/* Sends what is there, for 2 s at most, and frees the tracer; then left comes,
 * perhaps from inside of this. The loop must run, and http live, until then. */
void tracer_leave(struct tracer *tracer, void (*left)(void *owner),
                  void *owner);

#endif
