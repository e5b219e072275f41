/* breaker.h - whether an endpoint should be asked just now. Each endpoint has
 * one; activity/model_turn.c asks it before each request.
 *
 *   CLOSED --BREAKER_FAILURES in a row--> OPEN --rest is over--> one probe
 *     ^                                                           |     |
 *     '----------------------- a reply ---------------------------'     |
 *                                OPEN, for twice as long <-- a failure -'
 *
 * The pattern is Nygard's (Release It!, "Circuit Breaker"). Only failures of
 * the endpoint count, not those of one request: no connection, time-out, 5xx.
 * Each process counts its own. A wait that the endpoint asks for (Retry-After,
 * or a limit that is used up) is shared by the fleet (queue/fleet_endpoints.h),
 * and is kept even when an earlier request then goes well. */
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

/* Zeroed: closed. All times are ms of one clock that does not go back. */
struct breaker {
    unsigned failures; /* in a row */
    bool probing;      /* OPEN: one request is the probe, others wait for it */
    uint64_t until_ms; /* the end of the rest after failures; 0: none */
    uint64_t asked_ms; /* the end of the wait that the endpoint asked for */
    struct rate rate;  /* what is left of its limits */
};

/* Asks for one request. Returns how many ms the endpoint is to be left alone.
 * 0: it may be asked now; then its outcome must be told by one of the three
 * functions below, or a probe would block the endpoint for ever. */
uint64_t breaker_ask(struct breaker *breaker, uint64_t now_ms);
/* The same for fetching a kept reply, which does not count for its limits. */
uint64_t breaker_ask_kept(struct breaker *breaker, uint64_t now_ms);

void breaker_well(struct breaker *breaker);
void breaker_failed(struct breaker *breaker, uint64_t now_ms);
/* The request was given up before it had an outcome. */
void breaker_dropped(struct breaker *breaker);

/* The endpoint has asked this consumer, or another one, for a wait from now on.
 * The longest wait counts. */
void breaker_wait(struct breaker *breaker, uint64_t now_ms, uint64_t wait_ms);
/* What is left of that wait, in ms. */
uint64_t breaker_waits(const struct breaker *breaker, uint64_t now_ms);

#endif
