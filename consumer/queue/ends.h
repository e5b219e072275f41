/* ends.h - sends the ends of a partition's jobs. Those of one iteration of the
 * loop go in one command, which is less work for Redis than one for each.
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
    void *sender;
    struct finish finish;
};

/* Comes once for each end. reply: its answer, borrowed; NULL when Redis refused
 * it, and why has the reason; both NULL when the outcome is unknown: the end is
 * to be added again. May come after ends_free(). */
typedef void end_told(void *sender, const redisReply *reply,
                      const struct err *why);

struct ends_events {
    bool (*send)(void *owner, const struct command *command, link_done *done,
                 void *batch); /* as link_send() */
    end_told *told;
};

struct ends *ends_new(uv_loop_t *loop, const struct names *names,
                      unsigned int partition, struct ends_events events,
                      void *owner);
void ends_add(struct ends *ends, struct end *end);
/* Answers ends that were not sent as unknown. */
void ends_free(struct ends *ends);

#endif
