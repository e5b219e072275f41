/* sse.h - server-sent events (the WHATWG's HTML standard) out of bytes that
 * come in any pieces.
 *
 * Lines end in LF, CR or CRLF, also when a piece ends between the two. Data
 * lines of one event are joined by LF; comments, ids and retry times are
 * skipped. A line that is whole in one piece is read in place; only a line that
 * is cut between two pieces is copied. */
#ifndef CONSUMER_SSE_H
#define CONSUMER_SSE_H

#include "schemas/message/buf.h"

enum {
    SSE_MAX_LINE = 4 << 20, /* an image or a whole file in one delta fits */
    SSE_MAX_NAME = 64,      /* of an event; longer ones are cut */
};

/* name: "" when the event has none. Both borrowed for the call. False: stop,
 * the rest is not wanted. */
typedef bool sse_event(void *owner, struct view name, struct view data);

struct sse {
    sse_event *on_event;
    void *owner;
    struct buf line; /* the part of a line that came so far */
    struct buf data;
    struct buf name;
    bool has_data; /* a data line has come, even an empty one */
    bool errors;   /* set by the owner: lines "error: ..." are events of that
                      name, as some servers write them; by the standard they are
                      ignored */
    bool after_cr; /* a LF that comes next belongs to the CR before it */
    bool stopped;  /* for good */
};

void sse_init(struct sse *sse, sse_event *on_event, void *owner);
void sse_finish(struct sse *sse); /* accepts NULL and a zeroed one */

/* Takes the next bytes; calls on_event for each event in them. False: stopped,
 * by on_event or because a line or an event is too long (then sse_overflow()).
 * Later bytes are ignored. */
bool sse_feed(struct sse *sse, struct view bytes);

/* At the end of the stream. An event that no blank line has ended is given, too
 * (the standard drops it): its data shows whether it is whole. */
bool sse_end(struct sse *sse);

bool sse_overflow(const struct sse *sse);

#endif
