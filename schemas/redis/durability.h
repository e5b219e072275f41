/* durability.h - when what was written counts as written.
 *
 *   async      the master has it. What it has not passed on dies with it, what
 *              its append-only file has not written through with the machine
 *   replica:N  N replicas have it as well (WAIT)
 *   fsync      the master's disk has it (WAITAOF: Redis 7.2, Valkey, with
 *              appendonly yes)
 *
 * The answer is about all that was written before the question. It is no
 * promise of more: a failover may still choose a replica that lags. */
#ifndef SCHEMAS_REDIS_DURABILITY_H
#define SCHEMAS_REDIS_DURABILITY_H

#include <hiredis/hiredis.h>

#include "schemas/message/err.h"
#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

enum { DURABILITY_MAX_REPLICAS = 100 };

struct durability {
    enum { DURABLE_ASYNC, DURABLE_REPLICA, DURABLE_FSYNC } kind;
    unsigned int replicas;
};

/* Empty: async. Error: bad_setting. */
bool durability_parse(struct durability *durability, struct view text,
                      struct err *err);

/* The question is two commands, on one connection. Redis answers the second
 * when all that this connection has written is there, so the first writes: then
 * that is all that anybody had written, also what was sent before a reconnect
 * and found done when it was sent again. Not of async, of which there is
 * nothing to ask. */
void durability_mark(struct command *command, const struct names *names,
                     unsigned int partition);
/* wait_ms: not zero; holds up what is sent behind it for so long. */
void durability_ask(struct command *command,
                    const struct durability *durability, uint64_t wait_ms);
/* Errors: not_durable (kind retry: not yet, says who has it), bad_setting (this
 * server cannot tell), and those of reply.h. */
bool durability_told(const struct durability *durability,
                     const redisReply *reply, struct err *err);

#endif
