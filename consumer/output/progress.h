/* progress.h - writes the events of an attempt, with pieces of text gathered.
 *
 * Deltas of a model and output of a cell come in small pieces. They are
 * gathered until delta_ms have passed since the last write, or 1 KiB is there,
 * or another event comes. While writes wait for Redis they are gathered, too,
 * up to 32 KiB an event.
 *
 * Followers see events in the order of these calls. Events that a journal
 * record brings are written by journal.h, which flushes this first. */
#ifndef CONSUMER_PROGRESS_H
#define CONSUMER_PROGRESS_H

#include "consumer/queue/store.h"
#include "schemas/message/event.h"
#include "schemas/redis/transition.h"
#include "schemas/service/alarm.h"

struct progress_setup {
    struct store *store;
    const struct names *names;
    struct job_lease lease; /* its id is borrowed as well */
    uint64_t delta_ms;      /* between two writes of text, at least */
    store_done *done;       /* called for every event, written or refused */
    void *owner;
};

/* Of one attempt. */
struct progress {
    struct progress_setup setup;
    struct alarm *alarm; /* set while text waits */
    uv_loop_t *loop;
    uint64_t sent_ms; /* when text was written last, by the loop's clock */
    uint64_t writes;  /* so far: by its number Redis knows a write that is sent
                         again */
    struct buf text;  /* that waits; at most 32 KiB */
    const char *type; /* of its event, a literal; compared by address */
    struct event_data about;
};

/* Copies setup, and borrows what it points to. */
void progress_init(struct progress *progress, uv_loop_t *loop,
                   const struct progress_setup *setup);
void progress_finish(struct progress *progress);

/* Adds a piece of text, which is copied. type must be the same literal for the
 * same text. about: turn, or call and stream; what it points to is borrowed
 * until the text is flushed, so it must live as long as the attempt. */
void progress_text(struct progress *progress, const char *type,
                   const struct event_data *about, struct view piece);

/* Writes what waits, a broken last character included. */
void progress_flush(struct progress *progress);

/* Forgets what waits, if it is of that type. */
void progress_drop(struct progress *progress, const char *type);

/* Writes what waits, then the event. */
void progress_event(struct progress *progress, const char *type,
                    const struct event_data *data);

/* Initializes out, and encodes. Data that do not fit an event are left out as a
 * whole: out is empty then, and the log has why. */
void event_data_encode(const struct event_data *data, struct buf *out);

#endif
