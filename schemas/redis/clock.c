/* clock.c - the time by the clock of a Redis server. */
#include "schemas/redis/clock.h"

#include <stdlib.h>

void clock_ask(struct command *command)
{
    command_init(command, "TIME");
}

/* [seconds, microseconds] */
bool clock_read(const redisReply *reply, uint64_t *now)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return false;
    *now = strtoull(reply->element[0]->str, NULL, 10) * 1000 +
           strtoull(reply->element[1]->str, NULL, 10) / 1000;
    return true;
}
