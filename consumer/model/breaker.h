/* breaker.h - whether an endpoint should be asked just now.
 *
 *   CLOSED --BREAKER_FAILURES in a row--> OPEN --rest is over--> one probe
 *     ^                                                           |     |
 *     '----------------------- a reply ---------------------------'     |
 *                                OPEN, for twice as long <-- a failure -'
 *
 * The pattern is Nygard's (Release It!, "Circuit Breaker"). A failure is what
 * speaks of the endpoint, not of one request: no connection, time-out, 5xx.
 * Failures are of one process: consumers learn of them for themselves. A wait
 * that the endpoint asks for (Retry-After, or nothing is left of a limit) is
 * kept by all of the fleet (queue/fleet_endpoints.h), also when a request that
 * was made before goes well. */
#ifndef CONSUMER_BREAKER_H
#define CONSUMER_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/model/rate.h"

enum {
    BREAKER_FAILURES = 5,
    BREAKER_REST_MS = 5 * 1000, /* the first time */
    BREAKER_MOST_MS = 60 * 1000,
};

struct breaker {
    unsigned failures; /* in a row */
    bool probing;      /* one asks, the others wait for what comes of it */
    uint64_t until_ms; /* not before, after failures; 0: at any time */
    uint64_t asked_ms; /* not before: it has asked for that */
    struct rate rate;  /* what is left of its limits */
};

/* Now, in ms of any clock that does not go back; how long the endpoint is to be
 * left alone: 0, it may be asked, and what comes of it must be told. */
uint64_t breaker_ask(struct breaker *breaker, uint64_t now_ms);
/* The same, for a reply that it has made and keeps: none of its limits is of
 * these. */
uint64_t breaker_ask_kept(struct breaker *breaker, uint64_t now_ms);

/* What came of it. */
void breaker_well(struct breaker *breaker);
void breaker_failed(struct breaker *breaker, uint64_t now_ms);
/* Nothing did: given up meanwhile. */
void breaker_dropped(struct breaker *breaker);

/* It has asked for so long a wait, of us or of others; the longest counts. */
void breaker_wait(struct breaker *breaker, uint64_t now_ms, uint64_t wait_ms);
/* What is left of that. */
uint64_t breaker_waits(const struct breaker *breaker, uint64_t now_ms);

#endif
