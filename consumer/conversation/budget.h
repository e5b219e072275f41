/* budget.h - what a job may still spend, and so how large a request may be.
 *
 * A request is sent when the rest of the budget covers it, a short reply, and
 * the same once more: the next request will hold the whole conversation, so the
 * answer after it will need at least as much. When less is left, the model is
 * asked for its answer now, as long as the rest allows; when not even that
 * fits, no request is sent. A pure function. */
#ifndef CONSUMER_BUDGET_H
#define CONSUMER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/model/price.h"

enum {
    BUDGET_REPLY = 512,       /* tokens: there has to be room for so many */
    BUDGET_LEAST_REPLY = 100, /* of an answer */
    /* What a reply without a bound is taken to be at the most. A bound that is
     * larger is not said: endpoints refuse what is more than they can do. */
    BUDGET_MOST_REPLY = 4096,
};

struct budget {
    uint64_t max_tokens, max_cost; /* 0: no limit */
    uint64_t tokens, cost;         /* used up */
};

struct budget_request {
    uint64_t tokens; /* as the endpoint will count them, about */
    uint64_t reply;  /* its bound; 0: none */
    const struct price *price;
    bool last; /* an answer is asked for anyhow */
};

struct budget_plan {
    bool fits;
    const char *limit; /* why an answer has to be asked for, or why it does not
                          fit: token_limit, cost_limit; "": it need not be */
    uint64_t max_tokens;     /* of the reply, below its bound; 0: as that is */
    uint64_t reserved, cost; /* tokens, micro-dollars, at the most */
};

/* For people: "$0.05", "3000 tokens". */
struct price_text budget_amount(bool money, uint64_t amount);

struct budget_plan budget_plan(const struct budget *budget,
                               const struct budget_request *request);

#endif
