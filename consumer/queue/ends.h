/* ends.h - the ends of a partition's jobs: those of one turn of the loop leave
 * in one step, which is less work for Redis than one for each.
 *
 * Nothing waits for company: what is added in one turn leaves before the loop
 * waits again, a single end as soon as many. */
#ifndef CONSUMER_ENDS_H
#define CONSUMER_ENDS_H

#include "schemas/redis/link.h"
#include "schemas/redis/transition.h"

struct ends;

/* Its sender's, and stays where it is until that is told. */
struct end {
    struct end *next;
    void *sender;
    struct finish finish;
};

/* Once for each. reply: the answer to that one, borrowed; NULL when it was
 * refused, and why says how; both NULL when nobody knows: to be added again.
 * May come after ends_free(). */
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
/* Tells what has not left that nobody knows. */
void ends_free(struct ends *ends);

#endif
