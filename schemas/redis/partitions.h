/* partitions.h - the number of partitions of a fleet.
 *
 * The fleet's first consumer sets the number. It must never change: it decides
 * in which partition the jobs, sessions and limits of a tenant are, and nothing
 * would move them to another one. */
#ifndef SCHEMAS_REDIS_PARTITIONS_H
#define SCHEMAS_REDIS_PARTITIONS_H

#include <hiredis/hiredis.h>

#include "schemas/message/err.h"
#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

/* Sets the number if there is none. */
void partitions_set(struct command *command, const struct names *names,
                    size_t count);
void partitions_ask(struct command *command, const struct names *names);
/* Reads the reply of partitions_ask(). A fleet without the number cannot be
 * told from one with a wrong one: callers set it first. Errors: bad_setting (no
 * number of 1 to NAMES_MAX_PARTITIONS), those of reply.h. */
bool partitions_read(const redisReply *reply, const struct names *names,
                     size_t *count, struct err *err);

#endif
