/* clock.c - the time by the clock of a Redis server. */
#include "schemas/redis/clock.h"

#include <stdlib.h>

#include "schemas/redis/reply.h"

void clock_ask(struct command *command)
{
    command_init(command, "TIME");
}

/* [seconds, microseconds] */
bool clock_read(const redisReply *reply, uint64_t *now)
{
    if (!reply_is_texts(reply, 2))
        return false;
    *now = strtoull(reply->element[0]->str, NULL, 10) * 1000 +
           strtoull(reply->element[1]->str, NULL, 10) / 1000;
    return true;
}
