/* budget.h - what a job may still spend, and so how large a request may be.
 *
 * A request is sent when the budget has room for it and a short reply, and for
 * both a second time: the next request will hold the whole conversation, so the
 * answer after it will need at least as much. When less is left, the model is
 * asked for its answer now, with the rest as the limit of its length. When not
 * even a short answer fits, no request is sent. A pure function. */
#ifndef CONSUMER_BUDGET_H
#define CONSUMER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/model/price.h"

enum {
    BUDGET_REPLY = 512, /* tokens of a short reply, which must have room */
    BUDGET_LEAST_REPLY = 100, /* of the last answer */
    /* How long a reply without a bound is taken to be. No larger bound is sent:
     * endpoints refuse one that is more than they can write. */
    BUDGET_MOST_REPLY = 4096,
};

/* Costs are in micro-dollars. */
struct budget {
    uint64_t max_tokens, max_cost; /* 0: no limit */
    uint64_t tokens, cost;         /* used up */
};

/* The request that is to be sent. */
struct budget_request {
    uint64_t tokens; /* about what the endpoint will count of it */
    uint64_t reply;  /* the bound of its reply, in tokens; 0: none */
    const struct price *price;
    bool last; /* it asks for the last answer in any case */
};

/* What may be done with it. */
struct budget_plan {
    bool fits;           /* at least as a request for the last answer */
    const char *limit;   /* why it must be one, or why not even that fits:
                            token_limit, cost_limit; "": it may be any */
    uint64_t max_tokens; /* the bound to send, if it is below the request's own;
                            0: its own is kept */
    uint64_t reserved, cost; /* what request and reply may cost at most: tokens,
                                micro-dollars */
};

/* For people: "$0.05", "3000 tokens". */
struct price_text budget_amount(bool money, uint64_t amount);

struct budget_plan budget_plan(const struct budget *budget,
                               const struct budget_request *request);

#endif
