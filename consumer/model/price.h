/* price.h - what a model's tokens cost.
 *
 * Prices are dollars for a million tokens, which are micro-dollars for one. A
 * sum is a whole number of micro-dollars, rounded up call by call. */
#ifndef CONSUMER_PRICE_H
#define CONSUMER_PRICE_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/err.h"

struct price {
    bool known;
    double input, cached, written, output; /* micro-dollars a token */
};

/* cached, written: of the input, what was read from the endpoint's cache and
 * what was written to it. */
struct price_tokens {
    uint64_t input, cached, written, output;
};

/* {"input": 3, "cached": 0.3, "cache_write": 3.75, "output": 15}; without
 * cached or cache_write: as input. Error: bad_setting. */
bool price_read(struct price *price, const json_t *json, struct err *err);

/* The other way round. */
json_t *price_write(const struct price *price);

/* Micro-dollars. */
uint64_t price_of(const struct price *price, struct price_tokens tokens);
/* The same, when all of the input may have to be written to the cache. */
uint64_t price_at_most(const struct price *price, uint64_t input,
                       uint64_t output);
/* How many output tokens so many micro-dollars buy. */
uint64_t price_buys(const struct price *price, uint64_t cost);

/* Dollars, as an endpoint says them, in micro-dollars. */
uint64_t price_micro(double dollars);

/* "$0.0123", for people: at least two places, at most six. */
struct price_text {
    char text[32];
};
struct price_text price_dollars(uint64_t micro);

#endif
