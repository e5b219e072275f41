/* span.h - spans: what a job was about, from when to when.
 *
 * A span is begun where a piece of work begins, and costs its owner a struct
 * span until the work ends. Then it is written, once, as OTLP's JSON:
 *
 *   span_begin(&trace, &span, parent);
 *   ...
 *   out = span_write(&trace, &span, SPAN_CLIENT, VIEW("chat"), model);
 *   if (out) {
 *       span_text(out, KEY_REQUEST_MODEL, model);
 *       span_finish(out);
 *   }
 *
 * A job has one trace, whose id is the job's without its dashes: whoever goes
 * on with the job on another host goes on in that trace, and whoever knows the
 * job finds it. Each attempt is a root of its own. Whether the trace is written
 * follows from its id as well, so all attempts of a job agree on it, as far as
 * their consumers are set up alike.
 *
 * Where traces are off, or this one is not written, each call returns at once.
 */
#ifndef CONSUMER_TRACE_SPAN_H
#define CONSUMER_TRACE_SPAN_H

#include <stdint.h>

#include "consumer/trace/names.h"
#include "schemas/message/buf.h"
#include "schemas/message/trace.h"

enum {
    SPAN_BYTES = 64 << 10,        /* of one that is written; a longer is lost */
    SPAN_TEXT_BYTES = 256,        /* of an attribute */
    SPAN_CONTENT_BYTES = 8 << 10, /* of one that is content */
    SPAN_PARENT_BYTES = 56,       /* of a traceparent, and a NUL */
};

enum span_kind { SPAN_INTERNAL = 1, SPAN_CLIENT = 3, SPAN_CONSUMER = 5 };

/* Where the spans of a process go. */
struct span_out {
    void (*add)(void *owner, struct view span); /* borrows the JSON */
    void *owner;
    uint64_t threshold; /* of SPAN_SAMPLES: so many traces are written */
    bool content;       /* what models, tools and people say, too */

    /* Of the span that is being written. */
    struct buf text;
    char trace[TRACE_ID_LEN + 1];
    size_t attributes, links; /* so many so far */
    bool failed;
    struct view failure;

    uint64_t ids[32]; /* random, for spans to come */
    size_t ids_left;
};
#define SPAN_SAMPLES (UINT64_C(1) << 56)

/* share: of all traces, 0 to 1. */
void span_out_init(struct span_out *out, double share);
void span_out_finish(struct span_out *out); /* accepts a zeroed one */

/* Of an attempt. Zeroed: traces are off. */
struct job_trace {
    struct span_out *out; /* NULL: traces are off */
    bool written;         /* else its spans are known to headers only */
    char id[TRACE_ID_LEN + 1];
    uint64_t since_1970_ns; /* to be added to the loop's clock: all times of an
                               attempt are by one reading of the time of day */
};
/* out: NULL when traces are off. */
void job_trace_init(struct job_trace *trace, struct span_out *out,
                    struct view job_id);
/* Messages, arguments and results are to be written. */
bool job_trace_has_content(const struct job_trace *trace);

/* Zeroed: there is none. */
struct span {
    uint64_t id, parent; /* parent 0: it is a root */
    uint64_t began_ns;   /* by the loop's clock; 0: it has an id only, and is
                            not written */
};

/* It begins now. parent: the id of another span, or 0. */
void span_begin(const struct job_trace *trace, struct span *span,
                uint64_t parent);

/* The span as a traceparent, for a request that is made within it; written into
 * text. Empty: traces are off. */
struct view span_header(const struct job_trace *trace, const struct span *span,
                        char text[SPAN_PARENT_BYTES]);
/* Its id, as records of the journal have it; the same. Empty: the trace is not
 * written. */
struct view span_digits(const struct job_trace *trace, const struct span *span,
                        char text[TRACE_PARENT_LEN + 1]);

/* It ends now, and is none any more. The name is a word and another one, which
 * may be empty. NULL: it is not written. Else all functions below may follow,
 * the last one must. */
struct span_out *span_write(const struct job_trace *trace, struct span *span,
                            enum span_kind kind, struct view name,
                            struct view of);
/* Attributes come before links. An empty text is left out, content also unless
 * the operator wants it. */
void span_text(struct span_out *out, enum trace_key key, struct view text);
void span_content(struct span_out *out, enum trace_key key, struct view text);
void span_whole(struct span_out *out, enum trace_key key, uint64_t number);
void span_seconds(struct span_out *out, enum trace_key key, uint64_t ns);
void span_flag(struct span_out *out, enum trace_key key);
/* What it stood for has failed: code is the attribute error.type. Borrows the
 * message, a sentence, which may be empty. */
void span_fail(struct span_out *out, struct view code, struct view message);
/* To a span of the same trace, and to a foreign one, whose traceparent and
 * tracestate trace_check() has accepted. */
void span_link_own(struct span_out *out, uint64_t id);
void span_link_foreign(struct span_out *out, const struct trace *foreign);
void span_finish(struct span_out *out);

#endif
