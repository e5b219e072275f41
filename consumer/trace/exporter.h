/* exporter.h - sends finished spans to a collector, and waits for nobody.
 *
 *   GATHERING --512 spans, or 5 s--> SENDING --taken, refused--> GATHERING
 *                                     ^   |
 *                                     |   | 429, 502, 503, 504, or the
 *                                     |   v connection broke
 *                                    RESTING
 *
 *   any --> LEFT, when the process leaves: what is there is sent once, within
 *           2 s, and what then remains is dropped
 *
 * Spans wait in a ring (ring.h), which drops the oldest when a collector is
 * slower than the jobs. One batch at a time is on its way. A batch that could
 * not be delivered is sent again after the time that the collector names, or
 * else after 1 s, doubled each time, of which chance takes up to a half; after
 * 5 tries it is dropped. So a collector that hangs costs the memory of a ring
 * and a batch, whatever it does.
 *
 * The exporter knows neither HTTP nor clocks: its owner has both (tracer.c; for
 * tests tests/unit/trace/test_exporter.c). The owner calls exporter_...(), also
 * from inside of a port. */
#ifndef CONSUMER_TRACE_EXPORTER_H
#define CONSUMER_TRACE_EXPORTER_H

#include "consumer/trace/ring.h"
#include "schemas/message/machine.h"

enum {
    EXPORT_BATCH = 512,
    EXPORT_BATCH_BYTES = 4 << 20,
    EXPORT_EVERY_MS = 5000,
    EXPORT_TRIES = 5, /* of one batch, the first included */
    EXPORT_BACKOFF_MS = 1000,
    EXPORT_MOST_BACKOFF_MS = 5 * 60 * 1000, /* also where the collector asks for
                                               more */
    EXPORT_LEAVE_MS = 2000,
    EXPORT_TELL_MS = 60 * 1000, /* between two sentences about lost spans */
};

/* Of spans. Each that was finished is in one of them, or still waits. */
struct export_counts {
    uint64_t sent;    /* the collector has taken it */
    uint64_t dropped; /* here: the ring was full, no try came through, the
                         process left */
    uint64_t refused; /* by the collector */
};

enum export_verdict { EXPORT_TAKEN, EXPORT_REFUSED, EXPORT_AGAIN };

/* What came of a batch. */
struct export_answer {
    enum export_verdict verdict;
    uint64_t refused;        /* TAKEN: so many of them all the same */
    uint64_t retry_after_ms; /* AGAIN: 0: the collector names no time */
    char why[256];           /* a sentence; "": all is well */
};

/* What the exporter asks of its owner. */
struct export_ports {
    uint64_t (*now_ms)(void *owner);
    uint32_t (*chance)(void *owner);
    /* exporter_rang() ms from now; replaces what was set. */
    void (*set_alarm)(void *owner, uint64_t ms);
    /* Sends the body, which stays where it is until exporter_answered(), or
     * give_up(), after which that must not come. */
    void (*send)(void *owner, struct view body);
    void (*give_up)(void *owner);
    /* Spans were lost: how many since it was said last, and why; at most once
     * in EXPORT_TELL_MS. */
    void (*tell)(void *owner, const struct export_counts *since,
                 const char *why);
    void (*left)(void *owner); /* last of all; may free the exporter */
};

enum export_state {
    EXPORT_GATHERING,
    EXPORT_SENDING,
    EXPORT_RESTING,
    EXPORT_LEFT,
    EXPORT_STATES,
};

struct exporter {
    const struct export_ports *ports;
    void *owner;
    struct view head, tail; /* of each body, around its spans; borrowed */
    struct machine machine;
    struct ring ring;
    struct buf batch; /* a body; empty: none is on its way */
    size_t batched;   /* spans in it */
    unsigned int tries;
    struct export_answer answer; /* the last one */
    bool leaving, overdue;
    struct export_counts counts, told;
    uint64_t told_ms; /* when; 0: never */
    char why[256];    /* spans were lost last */
};

/* Borrows ports, head and tail. */
void exporter_init(struct exporter *exporter, const struct export_ports *ports,
                   void *owner, struct view head, struct view tail);
/* Calls no port. */
void exporter_finish(struct exporter *exporter);

/* Copies the span. An empty one stands for one that was too long. */
void exporter_add(struct exporter *exporter, struct view span);
void exporter_rang(struct exporter *exporter);
void exporter_answered(struct exporter *exporter,
                       const struct export_answer *answer);
/* Once. left() comes within EXPORT_LEAVE_MS, also from inside of this. */
void exporter_leave(struct exporter *exporter);

#endif
