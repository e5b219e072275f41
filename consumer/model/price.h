/* price.h - what a model's tokens cost.
 *
 * Prices are dollars for a million tokens, which is the same as micro-dollars
 * for one. Sums are whole numbers of micro-dollars, rounded up call by call. */
#ifndef CONSUMER_PRICE_H
#define CONSUMER_PRICE_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/err.h"

/* Zeroed: not known. */
struct price {
    bool known;
    double input, cached, written, output; /* micro-dollars a token */
};

/* cached, written: the parts of input that were read from the endpoint's cache
 * and written to it. */
struct price_tokens {
    uint64_t input, cached, written, output;
};

/* Reads {"input": 3, "cached": 0.3, "cache_write": 3.75, "output": 15}. Without
 * cached or cache_write these cost as much as input. Error: bad_setting. */
bool price_read(struct price *price, const json_t *json, struct err *err);

/* The same object as JSON; a new reference. */
json_t *price_write(const struct price *price);

/* What the tokens cost, in micro-dollars. */
uint64_t price_of(const struct price *price, struct price_tokens tokens);
/* The most that they may cost: all of the input may be written to the cache,
 * where that is dearer. */
uint64_t price_at_most(const struct price *price, uint64_t input,
                       uint64_t output);
/* How many output tokens cost micro-dollars buy, rounded down. */
uint64_t price_buys(const struct price *price, uint64_t cost);

/* Dollars, as an endpoint says them, in micro-dollars, rounded up. */
uint64_t price_micro(double dollars);

/* "$0.0123", for people: at least two places, at most six. */
struct price_text {
    char text[32];
};
struct price_text price_dollars(uint64_t micro);

#endif
