/* rate.h - what an endpoint says is left of its limits, and until when.
 *
 *   x-ratelimit-{remaining,reset}-{requests,tokens}   "1s", "6m0s", "20ms", "7"
 *   anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-
 *       {remaining,reset}                              RFC 3339
 *   x-ratelimit-{remaining,reset}, ratelimit-{remaining,reset}
 *                                          of requests; seconds, or since 1970
 *   x-ratelimit-remaining-{req-10-second,tokens-minute}   without a reset: the
 *                                                         period is in the name
 *
 * Each answer says it anew, with its headers. What was asked since then is
 * counted here: when that is all that was left, the rest of us wait until the
 * limit begins anew, before anybody is told 429. Most limits fill up little by
 * little and say when they will be full: asking at once for each bit of it
 * would be the race of a fleet for one place. So that is waited for, but no
 * longer than RATE_MOST_MS, in which a limit of a day has filled up a bit. */
#ifndef CONSUMER_RATE_H
#define CONSUMER_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/message/view.h"

enum {
    RATE_MOST_MS = 10 * 60 * 1000,
    RATE_LIMITS = 8, /* that are kept: requests and tokens, of some periods */
    RATE_NAME_MAX = 31, /* bytes */
};

/* What a request has taken. What was read from the endpoint's cache is not
 * counted for limits of input tokens; free_cache: nor for those of all tokens.
 */
struct rate_use {
    uint64_t input; /* tokens; cached ones as well */
    uint64_t cached;
    uint64_t output;
    bool free_cache;
};

enum rate_kind { RATE_REQUESTS, RATE_TOKENS, RATE_INPUT, RATE_OUTPUT };
enum { RATE_KINDS = RATE_OUTPUT + 1 };

struct rate_limit {
    char name[RATE_NAME_MAX + 1]; /* "requests", "tokens-minute" */
    enum rate_kind kind;
    bool has_left;
    uint64_t said;     /* to be left */
    uint64_t left;     /* of that, by our own count */
    uint64_t reset_ms; /* 0: not said. From now; in struct rate: at that time */
};

/* By the headers of one answer. */
struct rate_report {
    struct rate_limit limits[RATE_LIMITS];
    size_t count;
};

/* Any header; those of other things are passed over. unix_ms: now, for limits
 * that begin anew at a time of day, by the clock of who says it. */
void rate_hear(struct rate_report *said, struct view name, struct view value,
               uint64_t unix_ms);

/* Of one endpoint; zeroed: nothing is known. */
struct rate {
    struct rate_report now;
    uint64_t took[RATE_KINDS]; /* by the last request that came to its end */
    uint64_t asked;            /* requests, so far */
    uint64_t newest;           /* whose answer counts; 0: none has come */
};

/* Now, in ms of any clock that does not go back; how long to wait. 0: ask, it
 * has been counted. */
uint64_t rate_ask(struct rate *rate, uint64_t now_ms);
/* A request is sent: its number. */
uint64_t rate_sent(struct rate *rate);
/* What the answer to that request says, when it begins; what it has taken, when
 * it is whole. Both return how long everybody has to wait who asks there, us or
 * others, because too little is left for one more; 0: there is enough. */
uint64_t rate_take(struct rate *rate, const struct rate_report *said,
                   uint64_t number, uint64_t now_ms);
uint64_t rate_used(struct rate *rate, const struct rate_use *use,
                   uint64_t now_ms);

#endif
