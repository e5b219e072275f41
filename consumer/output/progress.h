/* progress.h - the events of an attempt, with pieces of text gathered.
 *
 * Deltas of a model and output of a cell come in small pieces. They are
 * gathered until delta_ms have passed since the last write, enough is there, or
 * another event comes. While Redis is away they wait, in one piece. */
#ifndef CONSUMER_PROGRESS_H
#define CONSUMER_PROGRESS_H

#include "consumer/alarm.h"
#include "consumer/queue/store.h"
#include "schemas/message/event.h"
#include "schemas/redis/transition.h"

struct progress_setup {
    struct store *store;
    const struct names *names;
    struct job_lease lease; /* its id must stay */
    uint64_t delta_ms;
    store_done *done; /* told of every event that was written or refused */
    void *owner;
};

struct progress {
    struct progress_setup setup;
    struct alarm *alarm;
    uv_loop_t *loop;
    uint64_t sent_ms; /* the loop's clock; when text was last */
    uint64_t writes;  /* so far: a write that comes again is known by it */
    struct buf text;
    const char *type; /* of the text that waits */
    struct event_data about;
};

void progress_init(struct progress *progress, uv_loop_t *loop,
                   const struct progress_setup *setup);
void progress_finish(struct progress *progress);

/* A piece of text. about: turn, or call and stream, borrowed until flushed;
 * literals and what lives as long as the attempt. */
void progress_text(struct progress *progress, const char *type,
                   const struct event_data *about, struct view piece);

void progress_flush(struct progress *progress);

/* What waits of that type is void. */
void progress_drop(struct progress *progress, const char *type);

/* After what waits. */
void progress_event(struct progress *progress, const char *type,
                    const struct event_data *data);

/* Encodes; what does not fit an event is left out. */
void event_data_encode(const struct event_data *data, struct buf *out);

#endif
