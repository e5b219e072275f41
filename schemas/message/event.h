/* event.h - the progress of a job, in order, for everyone who follows it.
 *
 * seq counts 1, 2, 3, ... without a gap and is also the id of the stream entry
 * (<seq>-0). Redis sets seq, at and attempt; data is one flat map whose members
 * depend on type (the table "Events" in schemas/MESSAGES.md). The terminal
 * event (job.completed, incomplete, failed, cancelled) always comes, and is the
 * last one. The type gap is in no stream: a client makes it when it finds that
 * events are missing which it can no longer get. */
#ifndef SCHEMAS_MESSAGE_EVENT_H
#define SCHEMAS_MESSAGE_EVENT_H

#include "schemas/message/job.h"
#include "schemas/message/result.h"

/* The members of all types in one struct; behind each, the types that have it.
 */
struct event_data {
    uint64_t turn;      /* of the conversation, from 1 */
    struct view text;   /* message.delta, reasoning.delta, message.completed,
                           history.summarised, tool.output */
    struct view call;   /* tool.*: the journal's id of the call */
    struct view parent; /* tool.*: the call whose code makes this one */
    struct view tool;   /* tool.*: its name */
    struct view code;   /* tool.started */
    struct view stream; /* tool.output: stdout, stderr */
    struct view status; /* tool.completed: ok, error, timeout, ... */
    struct view state;  /* tool.completed: kept, lost, ... */
    uint64_t ms;        /* tool.completed; terminal: submit to end */
    struct image_ref image;    /* image */
    struct display display;    /* display, display.updated */
    struct file_ref file;      /* file */
    struct result_error error; /* job.failed, job.retrying, history.dropped */
    struct view reason;        /* job.lost, job.queued again, job.waiting */
    uint64_t wait_ms;          /* job.retrying, job.waiting */
    uint64_t until;            /* job.waiting: ms since 1970 */
    struct view consumer;      /* job.started, job.lost: who */
    struct view queue;         /* job.queued */
    struct view answer;        /* job.completed, incomplete: its first 4 KiB */
    uint64_t from, to;         /* gap: seq of the first and the last */
    struct view traceparent;   /* job.queued, the first one: of the job */
    struct view tracestate;    /* the same */
    struct model_usage usage;  /* message.completed, history.summarised,
                                  history.dropped: of the reply */
    uint64_t item; /* of what the model says and does: the number of the item,
                      see item.h; 0: the event is about none */
};
extern const struct schema schema_event_data;

struct event {
    uint64_t seq;
    uint64_t at; /* ms since 1970, Redis's clock */
    uint64_t attempt;
    struct view type;
    struct event_data data;
};
extern const struct schema schema_event;

/* As message_decode(). */
bool event_decode(struct event *event, struct view bytes, struct arena *arena,
                  struct err *err);
/* job.completed, job.incomplete, job.failed, job.cancelled */
bool event_is_terminal(struct view type);

#endif
