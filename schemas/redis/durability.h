/* durability.h - when a write counts as done.
 *
 *   async      the master has it in memory. When it dies, it loses what it has
 *              neither passed on nor written to its append-only file
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

/* The question is two commands, one behind the other on one connection. WAIT
 * and WAITAOF answer only for what their own connection has written. So the
 * first command writes a key: whatever anybody wrote before it is then covered,
 * too, also a call that was sent before a reconnect and found done when it was
 * sent again. Neither is for async. mark: any key in the slot of the write. */
void durability_mark(struct command *command, struct key mark);
/* wait_ms: not zero. Commands behind it on the connection wait for as long. */
void durability_ask(struct command *command,
                    const struct durability *durability, uint64_t wait_ms);
/* Reads the reply of durability_ask(). Errors: not_durable (ERR_RETRY: not yet;
 * the sentence says who has the write), bad_setting (this server cannot say),
 * and those of reply.h. */
bool durability_told(const struct durability *durability,
                     const redisReply *reply, struct err *err);

#endif
