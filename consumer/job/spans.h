/* spans.h - what an attempt and its activities do, told as spans.
 *
 *   process {queue}                    an attempt. Links to the span with which
 *     |                                the producer submitted the job, and to
 *     |                                the attempt before
 *     |-- invoke_agent                 a turn of a conversation
 *     |     |-- chat {model}           a request to an endpoint
 *     |     |-- fetch_response {model} the reply to one is fetched, by its id
 *     |     '-- execute_tool {tool}    a call by the model
 *     |           '-- quern.cell       its code, where that is Python
 *     |                 '-- execute_tool {tool}       a call by that code
 *     '-- quern.cell                   of a job of kind code
 *
 * All attempts of a job are in one trace (trace/span.h). Each record of the
 * journal names the span of the attempt that wrote it, so that the next one,
 * which may be on another host, can link to it. An attempt ends where its job
 * has to wait for a person, and so does its span. What was going on when a
 * consumer was killed is told by nobody; what had ended is.
 *
 * An attempt owns struct attempt_spans. An activity owns a struct work_span for
 * each thing that it does, and tells what came of it before it frees that, if
 * only that it was given up (spans_given_up()). To tell twice does nothing. */
#ifndef CONSUMER_JOB_SPANS_H
#define CONSUMER_JOB_SPANS_H

#include <jansson.h>

#include "consumer/trace/span.h"
#include "schemas/message/err.h"
#include "schemas/message/result.h"

struct attempt;
struct model_endpoint;

struct attempt_spans {
    struct job_trace trace;
    struct span attempt, turn;
    char digits[TRACE_PARENT_LEN + 1]; /* of attempt, for records */
    uint64_t former;      /* the span of the attempt before; 0: none is known */
    uint64_t turn_number; /* of turn */
    const char *outcome;  /* how the attempt has ended; NULL: it was lost */
};

/* Something that an attempt does within a turn. Zeroed: nothing. */
struct work_span {
    struct span span;
    char header[SPAN_PARENT_BYTES]; /* a traceparent, once it was asked for */
    uint64_t first_ns;   /* chat: its first piece, by the loop's clock; 0: none
                            has come */
    struct buf messages; /* chat: of the request, where content is written */
};

/* -------- of the attempt */

void spans_begin(struct attempt *attempt);
/* The journal was read. */
void spans_journal(struct attempt *attempt);
/* A turn begins, and so the last one ends. */
void spans_turn(struct attempt *attempt);
/* No turn goes on any more. */
void spans_turn_end(struct attempt *attempt);
/* As spans.outcome says. */
void spans_end(struct attempt *attempt);

/* -------- of its activities */

/* The parent of what is done in a turn. Begins a turn if none has begun: an
 * attempt may take over in the middle of one. */
uint64_t spans_parent(struct attempt *attempt);
/* Work is prepared: its span has an id, but is not told of until it is started.
 */
void spans_prepare(const struct attempt *attempt, struct work_span *work,
                   uint64_t parent);
void spans_start(struct work_span *work);
/* What a request has, that is made within this work (or, where that is over,
 * the turn): the span where traces are on, else the job's own traceparent, and
 * nothing unless the job has one. Points into work and the job. */
struct trace spans_trace(const struct attempt *attempt, struct work_span *work);
/* Why work that goes on is given up, by attempt->stop. */
const struct err *spans_given_up(const struct attempt *attempt);

/* chat: messages of the request; the first piece of the reply has come. */
void spans_messages(const struct attempt *attempt, struct work_span *work,
                    const json_t *messages);
void spans_first(struct work_span *work);

/* What came of a request to a model. */
struct chat_told {
    const struct model_endpoint *endpoint;
    bool fetched; /* a reply that the endpoint had kept: it counts no tokens */
    bool summary;
    const struct usage *usage; /* NULL: there is no reply */
    struct view finish_reason;
    const json_t *message; /* of the reply; NULL: there is none */
    unsigned http_status;  /* of a failure; 0: none came */
    const struct err *why; /* of a failure; NULL: it is none */
};
void spans_chat(const struct attempt *attempt, struct work_span *work,
                const struct chat_told *told);

/* What came of a call of a tool. */
struct tool_told {
    struct view name; /* empty: there is no tool of that name */
    struct view call; /* the model's id of it; empty: none */
    struct view arguments, result;
    struct view failure; /* a code; empty: it has a value */
};
void spans_tool(const struct attempt *attempt, struct work_span *work,
                const struct tool_told *told);
/* cell: NULL: why it did not come to an end. */
void spans_cell(const struct attempt *attempt, struct work_span *work,
                const struct cell *cell, const struct err *why);

#endif
