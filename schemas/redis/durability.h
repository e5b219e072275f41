/* durability.h - when what was written counts as written.
 *
 *   async      the master has it. What it has not passed on dies with it, what
 *              its append-only file has not written through with the machine
 *   replica:N  N replicas have it as well (WAIT)
 *   fsync      the master's disk has it (WAITAOF: Redis 7.2, Valkey, with
 *              appendonly yes)
 *
 * The question goes behind the writes, on their connection: the answer is about
 * all of them. It comes late, but it is no promise of more: a failover may
 * still choose a replica that lags. */
#ifndef SCHEMAS_REDIS_DURABILITY_H
#define SCHEMAS_REDIS_DURABILITY_H

#include <hiredis/hiredis.h>

#include "schemas/message/err.h"
#include "schemas/redis/command.h"

enum { DURABILITY_MAX_REPLICAS = 100 };

struct durability {
    enum { DURABLE_ASYNC, DURABLE_REPLICA, DURABLE_FSYNC } kind;
    unsigned int replicas;
};

/* Empty: async. Error: bad_setting. */
bool durability_parse(struct durability *durability, struct view text,
                      struct err *err);

/* Not of async, of which there is nothing to ask. Redis answers when all that
 * was written on this connection is there, or after wait_ms (not zero), which
 * hold up what is sent behind it. */
void durability_ask(struct command *command,
                    const struct durability *durability, uint64_t wait_ms);
/* Errors: not_durable (kind retry: not yet, says who has it), bad_setting (this
 * server cannot tell), and those of reply.h. */
bool durability_told(const struct durability *durability,
                     const redisReply *reply, struct err *err);

#endif
