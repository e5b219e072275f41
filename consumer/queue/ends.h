/* ends.h - sends the ends of a partition's jobs. Those of one iteration of the
 * loop go in one command, which is less work for Redis than one for each. Each
 * has its own answer: one that Redis refuses holds up no other.
 *
 * No end waits for others: all that are added in one iteration are sent before
 * the loop waits again. */
#ifndef CONSUMER_ENDS_H
#define CONSUMER_ENDS_H

#include "schemas/redis/link.h"
#include "schemas/redis/transition.h"

struct ends;

/* Belongs to its sender, and stays where it is until its answer comes. */
struct end {
    struct end *next;
    void *sender;         /* for end_told */
    struct finish finish; /* what it points to is the sender's as well */
};

/* Comes once for each end. reply: its answer, borrowed; NULL when Redis refused
 * it, and why has the reason; both NULL when the outcome is unknown: the end is
 * to be added again. May come after ends_free(). */
typedef void end_told(void *sender, const redisReply *reply,
                      const struct err *why);

struct ends_events {
    /* As link_send(): false when nothing was sent. */
    bool (*send)(void *owner, const struct command *command, link_done *done,
                 void *batch);
    end_told *told;
};

struct ends *ends_new(uv_loop_t *loop, const struct names *names,
                      unsigned int partition, struct ends_events events,
                      void *owner);
/* Borrows the end until it is told. */
void ends_add(struct ends *ends, struct end *end);
/* Tells the ends that were not sent that their outcome is unknown. Those on
 * their way are told by whoever was asked to send them. Accepts NULL. */
void ends_free(struct ends *ends);

#endif
