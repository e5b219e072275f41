/* profile_look.h - what the files of a profile share: how what the fleet has
 * learned is read, and what it has asked is counted. */
#ifndef CONSUMER_PROFILE_LOOK_H
#define CONSUMER_PROFILE_LOOK_H

#include "consumer/alarm.h"
#include "consumer/model/reply_error.h"
#include "consumer/queue/profile.h"

enum {
    PROFILE_ANSWER_MS = 5000,
    PROFILE_BRIEF_MS = 1000, /* a wait that is over before others know of it */
    PROFILE_DAY_MS = 24 * 3600 * 1000,
    PROFILE_LONGEST_MS = 7 * PROFILE_DAY_MS, /* as http.c reads Retry-After */
    PROFILE_FACTS = QUIRKS + 1,              /* the last one is the window */
};

/* What was counted of an endpoint, and is not told yet. */
struct tally {
    struct endpoint_id id;
    uint64_t counts[ENDPOINT_COUNTS];
    char notes[ENDPOINT_NOTES][256]; /* "": nothing new */
};

struct profile {
    struct consumer *consumer;
    struct link *link;
    struct alarm *alarm; /* the end of what a request waits for it */
    struct key facts, waits, counts;
    uint64_t looked_ms; /* by the loop's clock */
    bool looking;
    int64_t ahead_ms; /* Redis's clock is, of the loop's */
    bool knows_clock;
    bool odd;     /* something there is no fact: said */
    bool refused; /* Redis does not want it: said */
    bool untold;  /* it has refused what it was told: that is told again ... */
    uint64_t again_ms; /* ... as it was then, the last time */
    struct tally tallies[MAX_ENDPOINTS];
    size_t tally_count;
    struct alarm *counting; /* when they are told */
};

uint64_t profile_now_ms(const struct profile *profile);
/* In Redis: the endpoint; the name of one of the facts. */
struct endpoint_id profile_id(const struct model_endpoint *endpoint);
const char *profile_fact(size_t fact);
/* It is no answer; what Redis does not want is logged, once. */
bool profile_refuses(struct profile *profile, const redisReply *reply);

/* All that concerns our endpoints; then they are told what is missing. */
void profile_read(struct profile *profile);
/* Attempts that wait for that. */
void profile_go_on(struct profile *profile);

/* Around what is written to that key, which is kept for so long from now. */
void profile_begin(struct profile *profile);
void profile_end(struct profile *profile, const struct key *key, uint64_t ms);
/* The same for what is kept from when it was made. */
void profile_end_once(struct profile *profile, const struct key *key,
                      uint64_t ms);
/* What Redis has refused is told again, after a while. */
void profile_try_again(struct profile *profile);
/* The answer to what was told. */
link_done profile_told;
/* profile_count.c: the alarm, counting. */
alarm_ring profile_tell_counts;

#endif
