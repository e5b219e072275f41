/* pending.h - the calls of a link that wait for their replies, in order.
 *
 * Redis answers the commands of one connection in their order, so the next
 * reply always belongs to the first call. Only link.c uses it. */
#ifndef SCHEMAS_REDIS_PENDING_H
#define SCHEMAS_REDIS_PENDING_H

#include "schemas/redis/link.h"

static const uint64_t NEVER = UINT64_MAX;

struct pending_reply {
    struct pending_reply *next;
    link_done *done;
    void *owner;
    uint64_t deadline; /* ms, the loop's clock */
    uint64_t sent_ns;  /* these two for a link_observer; sort -1: for none */
    int sort;
};

struct pending_replies {
    struct pending_reply *first;
    struct pending_reply **end;
    uint64_t deadline; /* not later than the first of theirs */
};

void pending_init(struct pending_replies *pending);
struct pending_reply *pending_add(struct pending_replies *pending,
                                  link_done *done, void *owner,
                                  uint64_t deadline);

/* Takes the oldest call off and calls its done(), which may add calls; false
 * when there is none. */
bool pending_answer(struct pending_replies *pending, const redisReply *reply);
/* Answers all with NULL. Calls added meanwhile are not among them. */
void pending_answer_all(struct pending_replies *pending, const struct err *why);

/* Whether some call has waited too long; brings deadline up to date. */
bool pending_are_late(struct pending_replies *pending, uint64_t now);

#endif
