/* partitions.c - how many partitions the keys of a fleet are divided into. */
#include "schemas/redis/partitions.h"

#include <stdlib.h>

#include "schemas/redis/reply.h"

static void partitions_begin_command(struct command *command, const char *name,
                                     const struct names *names)
{
    struct key key = names_fleet(names);

    command_init(command, name);
    command_add_copy(command, key_view(&key));
    command_add_text(command, NAMES_FLEET_PARTITIONS);
}

void partitions_set(struct command *command, const struct names *names,
                    size_t count)
{
    partitions_begin_command(command, "HSETNX", names);
    command_add_uint(command, count);
}

void partitions_ask(struct command *command, const struct names *names)
{
    partitions_begin_command(command, "HGET", names);
}

bool partitions_read(const redisReply *reply, const struct names *names,
                     size_t *count, struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    *count =
        reply->type == REDIS_REPLY_STRING ? strtoul(reply->str, NULL, 10) : 0;
    if (*count > 0 && *count <= NAMES_MAX_PARTITIONS)
        return true;
    struct key key = names_fleet(names);
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%s says that there are \"%.20s\" partitions, should be 1 "
                   "to %d",
                   key.text, reply->str ? reply->str : "",
                   NAMES_MAX_PARTITIONS);
}
