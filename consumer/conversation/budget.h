/* budget.h - what a conversation has used up, and how large its next request
 * may be within its limits.
 *
 * Spending is computed from the journal:
 *
 *   model_intent --reserves--> under way --model_reply--> counted
 *                                 | '-----refused------> nothing, or counted
 *                                 '---model_intent-----> counted as reserved
 *
 * A request whose outcome is not known may have been paid for: what was
 * reserved for it counts as spent.
 *
 * A request is sent when the budget has room for it and a short reply, and for
 * both a second time: the next request will hold the whole conversation, so the
 * answer after it will need at least as much. When less is left, the model is
 * asked for its answer now, with the rest as the limit of its length. When not
 * even a short answer fits, no request is sent. A limit of what models write
 * (max_output_tokens) is the bound of each reply: nothing is kept back of it,
 * but when less than a short reply is left of a larger one, that is for the
 * answer. budget_plan() is a pure function. */
#ifndef CONSUMER_BUDGET_H
#define CONSUMER_BUDGET_H

#include "consumer/model/price.h"
#include "schemas/message/journal.h"

/* Zeroed: nothing was used. */
struct spending {
    struct usage usage;         /* in all; its list of models is not set */
    struct model_usage *models; /* of each, in the order of first use */
    size_t model_count;
    char **names; /* of all models that were asked, owned */
    size_t name_count;
    bool asked;              /* a request is open: its outcome is not known */
    const char *model;       /* that was asked last; NULL: none was yet */
    uint64_t reserved, cost; /* for the open request: tokens, micro-dollars */
    uint64_t written;        /* tokens that models wrote, estimated where they
                                were not counted */
    uint64_t reply;          /* of the open request: tokens of its reply */
};

/* A model_intent. If a request is open already, what was reserved for it counts
 * as spent. Borrows nothing of the record. */
void spending_ask(struct spending *spending, const struct record *intent);
/* A reply, or a refusal: closes the request and adds what the endpoint has
 * counted, which is nothing for most refusals. Borrows nothing of the record.
 */
void spending_settle(struct spending *spending, const struct record *record);

/* All of it, what is reserved for an open request included. Its list of models
 * is borrowed. */
struct usage spending_total(struct spending *spending);
/* The tokens that count against a limit. */
uint64_t usage_tokens(const struct usage *usage);

void spending_finish(struct spending *spending);

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
    uint64_t max_written, written; /* tokens that models write; 0: no limit */
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

/* The limit of tokens that is nearer is that of those which models write. */
bool budget_is_of_written(const struct budget *budget);

/* For people: "$0.05", "3000 tokens". */
struct price_text budget_amount(bool money, uint64_t amount);

struct budget_plan budget_plan(const struct budget *budget,
                               const struct budget_request *request);

#endif
