/* clock.h - the time by the clock of a Redis server.
 *
 * Every time that consumers share is by this clock, because the clocks of hosts
 * differ. */
#ifndef SCHEMAS_REDIS_CLOCK_H
#define SCHEMAS_REDIS_CLOCK_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#include "schemas/redis/command.h"

void clock_ask(struct command *command);
/* ms since 1970. False: the reply is not a time. */
bool clock_read(const redisReply *reply, uint64_t *now);

#endif
