/* breaker.h - when an endpoint may be asked. Each endpoint has a breaker;
 * activity/model_turn.c asks it before each request.
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
 * and is kept even when an earlier request then goes well.
 *
 * Each answer says in its headers what is left of the endpoint's limits:
 *
 *   x-ratelimit-{remaining,reset}-{requests,tokens}   "1s", "6m0s", "20ms", "7"
 *   anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-
 *       {remaining,reset}                              RFC 3339
 *   x-ratelimit-{remaining,reset}, ratelimit-{remaining,reset}
 *                                          of requests; seconds, or since 1970
 *   x-ratelimit-remaining-{req-10-second,tokens-minute}   without a reset: the
 *                                                         period is in the name
 *
 * Requests made since that answer are counted here. When they have used up what
 * was left, further requests wait until the limit is reset, and are not refused
 * with 429. Most limits refill continuously and say when they will be full.
 * Requests wait until then: if they went out as soon as a little is left, a
 * whole fleet would race for one place. But they wait for RATE_MOST_MS at most;
 * by then a limit of a day has refilled a little. */
#ifndef CONSUMER_BREAKER_H
#define CONSUMER_BREAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/message/view.h"

enum {
    RATE_MOST_MS = 10 * 60 * 1000,
    RATE_LIMITS = 8,    /* of one endpoint: requests and tokens, by period */
    RATE_NAME_MAX = 31, /* bytes */
};

/* The tokens of one request. Limits of input tokens never count those that were
 * read from the endpoint's cache; free_cache: limits of all tokens do not,
 * either. */
struct rate_use {
    uint64_t input; /* with the cached ones */
    uint64_t cached;
    uint64_t output;
    bool free_cache;
};

enum rate_kind { RATE_REQUESTS, RATE_TOKENS, RATE_INPUT, RATE_OUTPUT };
enum { RATE_KINDS = RATE_OUTPUT + 1 };

struct rate_limit {
    char name[RATE_NAME_MAX + 1]; /* "requests", "tokens-minute" */
    enum rate_kind kind;
    bool has_left;     /* the headers say how much is left */
    uint64_t said;     /* what the endpoint said is left */
    uint64_t left;     /* that, less what was asked since */
    uint64_t reset_ms; /* in rate_hear(): from now, 0: not said; in struct rate:
                          a time of the caller's clock */
};

/* What the headers of one answer say. Zeroed: nothing. */
struct rate_report {
    struct rate_limit limits[RATE_LIMITS];
    size_t count;
};

/* The limits of one endpoint. Zeroed: nothing is known. */
struct rate {
    struct rate_report now;    /* of the newest answer */
    uint64_t took[RATE_KINDS]; /* tokens of the last request that has ended: the
                                  estimate for the next one; 0: not known */
    uint64_t asked;            /* requests so far: the number of the last one */
    uint64_t newest; /* number of the request whose answer is in now */
};

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

/* It has failed so often that only probes are sent. */
bool breaker_is_open(const struct breaker *breaker);

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

/* --------------------------------------------------- the endpoint's limits */

/* Takes one header; those about other things are ignored. unix_ms: now, by the
 * clock of the server, for limits that are reset at a time of day. */
void rate_hear(struct rate_report *said, struct view name, struct view value,
               uint64_t unix_ms);

/* A request is sent. Returns its number, for rate_take(). */
uint64_t rate_sent(struct rate *rate);
/* rate_take(): the answer to that request begins. rate_used(): it has ended.
 * Both return how many ms all consumers have to wait, because by the endpoint's
 * own words too little is left for one more request; 0: there is enough. */
uint64_t rate_take(struct rate *rate, const struct rate_report *said,
                   uint64_t number, uint64_t now_ms);
uint64_t rate_used(struct rate *rate, const struct rate_use *use,
                   uint64_t now_ms);

#endif
