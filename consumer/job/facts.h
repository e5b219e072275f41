/* facts.h - compares a job with its facts in Redis.
 *
 * Redis counts, orders and limits a job by its facts; the consumer runs it by
 * its body. A producer that submits with "pairs all" gives the facts itself,
 * and Redis does not read the body. So an attempt compares both before it
 * touches a session, a model or the executor. */
#ifndef CONSUMER_JOB_FACTS_H
#define CONSUMER_JOB_FACTS_H

#include "schemas/message/job.h"
#include "schemas/redis/transition.h"

/* What Redis has of the job, in the words of the submit. */
struct facts {
    struct view queue, priority, tenant, session; /* session: empty: none */
    uint64_t deadline_ms;                         /* from the submit; 0: none */
    uint64_t now; /* when the job was started, ms since 1970, by Redis's
                     clock */
};

/* Copies the texts into the arena. */
struct facts facts_of(const struct take_reply *start, struct arena *arena);

/* Errors: tenant_mismatch, queue_mismatch, priority_mismatch, session_mismatch,
 * deadline_mismatch; not_before_mismatch when it was started too early. */
bool facts_match(const struct facts *facts, const struct job *job,
                 struct err *err);

#endif
