/* calls.h - the calls of a link that wait for their replies, in order. */
#ifndef SCHEMAS_REDIS_CALLS_H
#define SCHEMAS_REDIS_CALLS_H

#include "schemas/redis/link.h"

static const uint64_t NEVER = UINT64_MAX;

struct call {
    struct call *next;
    link_done *done;
    void *owner;
    uint64_t deadline; /* ms, the loop's clock */
};

struct calls {
    struct call *first;
    struct call **end;
    uint64_t deadline; /* not later than the first of theirs */
};

void calls_init(struct calls *calls);
void calls_add(struct calls *calls, link_done *done, void *owner,
               uint64_t deadline);

/* Answers the oldest; false when there is none. */
bool calls_answer(struct calls *calls, const redisReply *reply);
/* Answers all with NULL. Calls added meanwhile are not among them. */
void calls_answer_all(struct calls *calls, const struct err *why);

/* Whether some call has waited too long; brings deadline up to date. */
bool calls_are_late(struct calls *calls, uint64_t now);

#endif
