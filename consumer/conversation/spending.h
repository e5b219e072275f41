/* spending.h - what a conversation has used up, computed from the journal.
 *
 *   model_intent --reserves--> under way --model_reply--> counted
 *                                 | '-----refused------> nothing, or counted
 *                                 '---model_intent-----> counted as reserved
 *
 * A request whose outcome is not known may have been paid for: what was
 * reserved for it counts as spent. */
#ifndef CONSUMER_SPENDING_H
#define CONSUMER_SPENDING_H

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

#endif
