/* spend.h - a record of the journal, together with what it takes from a
 * tenant's budget.
 *
 * Operators give a tenant a budget for a period (queue_set: tenant_tokens,
 * tenant_cost, tenant_budget_ms). What a model call may use is reserved in one
 * step with its model_intent. What it has used is settled in one step with its
 * model_reply, or with the record that it failed. So a record that is sent
 * again reserves nothing twice, and a consumer that has lost the job reserves
 * nothing. A reservation that nobody has settled counts as spent when the job
 * reserves again or ends. */
#ifndef SCHEMAS_REDIS_SPEND_H
#define SCHEMAS_REDIS_SPEND_H

#include "schemas/redis/transition.h"

enum spend_verb { SPEND_RESERVE, SPEND_SETTLE };

struct spend {
    struct job_lease lease; /* these three as in transition_journal() */
    uint64_t index;
    struct view record;
    int verb; /* enum spend_verb */
    uint64_t tokens;
    uint64_t cost; /* micro-dollars */
    bool priced;   /* the cost is known */
};
void transition_spend(struct command *command, const struct names *names,
                      const struct spend *spend,
                      const struct event_text *events, size_t count);

/* Why a reservation was refused, and nothing written. */
struct spend_bar {
    struct view setting; /* tenant_tokens, tenant_cost; empty: it was not */
    bool unpriced;       /* the cost is not known, and the budget is money */
    uint64_t limit;      /* in a period, */
    uint64_t spent;      /* in this one, with what others have reserved */
    uint64_t period_ms;
    uint64_t wait_ms; /* until the call may be possible; 0: never, because it
                         needs more than the whole budget, or has no price */
};
bool transition_spent(const redisReply *reply, struct spend_bar *bar,
                      struct err *err);

#endif
