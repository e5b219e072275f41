/* work.h - calls of libquern in threads, for requests that are rare.
 *
 * libquern waits for Redis. So a job of work runs in a thread of libuv's pool,
 * with a handle of its own, and tells the loop when it is done. At most
 * WORK_HANDLES run at once, so that the pool keeps threads for look-ups of
 * names; some more wait in line. */
#ifndef PRODUCER_GATEWAY_WORK_H
#define PRODUCER_GATEWAY_WORK_H

#include "producer/client/quern.h"
#include "producer/gateway/gateway.h"

enum { WORK_HANDLES = 3, WORK_MOST_WAITING = 64 };

struct work *work_new(struct gateway *gateway);
/* What waits is not run any more, and what runs ends; done is called for both.
 * Accepts NULL. */
void work_free(struct work *work);

struct work_job {
    /* In a thread: may block, and touches nothing but owner and quern. */
    void (*run)(void *owner, struct quern *quern);
    /* On the loop, once, after run; or without it, when the gateway ends. */
    void (*done)(void *owner);
    void *owner;
};

/* Copies job. False: too much waits already; nothing is called, and err says
 * so (work_full, 503). */
bool work_add(struct work *work, const struct work_job *job, struct err *err);

#endif
