/* breaker.h - whether an endpoint should be asked just now.
 *
 *   CLOSED --BREAKER_FAILURES in a row--> OPEN --rest is over--> one probe
 *     ^                                                           |     |
 *     '----------------------- a reply ---------------------------'     |
 *                                OPEN, for twice as long <-- a failure -'
 *
 * The pattern is Nygard's (Release It!, "Circuit Breaker"). A failure is what
 * speaks of the endpoint, not of one request: no connection, time-out, 5xx. A
 * wait that the endpoint asks for (Retry-After) is kept by all who ask it. Of
 * one process: consumers learn for themselves. */
#ifndef CONSUMER_BREAKER_H
#define CONSUMER_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BREAKER_FAILURES = 5,
    BREAKER_REST_MS = 5 * 1000, /* the first time */
    BREAKER_MOST_MS = 60 * 1000,
};

struct breaker {
    unsigned failures; /* in a row */
    bool probing;      /* one asks, the others wait for what comes of it */
    uint64_t until_ms; /* not before; 0: at any time */
};

/* Now, in ms of any clock that does not go back; how long the endpoint is to be
 * left alone: 0, it may be asked, and what comes of it must be told. */
uint64_t breaker_ask(struct breaker *breaker, uint64_t now_ms);

/* What came of it. wait_ms: it asked for so long a wait. */
void breaker_well(struct breaker *breaker);
void breaker_failed(struct breaker *breaker, uint64_t now_ms);
void breaker_wait(struct breaker *breaker, uint64_t now_ms, uint64_t wait_ms);
/* Nothing did: given up meanwhile. */
void breaker_dropped(struct breaker *breaker);

#endif
