/* spending.h - what a conversation has used up: a fold over the journal.
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

struct spending {
    struct usage usage;         /* without models */
    struct model_usage *models; /* by when they were asked first */
    size_t model_count;
    char **names; /* of all models that were asked */
    size_t name_count;
    bool asked;              /* a request is under way: */
    const char *model;       /* whom it asks; NULL: none was asked yet */
    uint64_t reserved, cost; /* tokens, micro-dollars */
};

/* Of the records nothing is borrowed. */
void spending_ask(struct spending *spending, const struct record *intent);
/* A reply, or a refusal: what the endpoint has counted of it, which is nothing
 * of most refusals. */
void spending_settle(struct spending *spending, const struct record *record);

/* All of it, with what is under way; models: of the spending itself. */
struct usage spending_total(struct spending *spending);
/* What counts against a limit on tokens. */
uint64_t usage_tokens(const struct usage *usage);

void spending_finish(struct spending *spending);

#endif
