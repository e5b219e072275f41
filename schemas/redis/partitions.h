/* partitions.h - how many partitions the keys of a fleet are divided into.
 *
 * The fleet's first consumer sets it, for good: jobs, sessions and limits of a
 * tenant are where that number puts them. */
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
/* Errors: bad_setting (that is no number of partitions), those of reply.h. */
bool partitions_read(const redisReply *reply, const struct names *names,
                     size_t *count, struct err *err);

#endif
