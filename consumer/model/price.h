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
    double input, cached, output; /* micro-dollars a token */
};

/* {"input": 2.5, "cached": 1.25, "output": 10}; without cached: as input.
 * Error: bad_setting. */
bool price_read(struct price *price, const json_t *json, struct err *err);

/* The other way round. */
json_t *price_write(const struct price *price);

/* Micro-dollars; cached: of the input. */
uint64_t price_of(const struct price *price, uint64_t input, uint64_t cached,
                  uint64_t output);
/* How many output tokens so many micro-dollars buy. */
uint64_t price_buys(const struct price *price, uint64_t cost);

/* Dollars, as an endpoint says them, in micro-dollars. */
uint64_t price_micro(double dollars);

#endif
