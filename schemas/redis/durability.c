/* durability.c - when what was written counts as written. */
#include "schemas/redis/durability.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/redis/reply.h"

static bool parse_replicas(struct view digits, unsigned int *replicas)
{
    *replicas = 0;
    for (size_t i = 0; i < digits.len && i < 4; i++) {
        if (!isdigit((unsigned char)digits.data[i]))
            return false;
        *replicas = *replicas * 10 + (unsigned int)(digits.data[i] - '0');
    }
    return *replicas > 0 && *replicas <= DURABILITY_MAX_REPLICAS;
}

bool durability_parse(struct durability *durability, struct view text,
                      struct err *err)
{
    static const char replica[] = "replica:";
    size_t len = strlen(replica);

    *durability = (struct durability){ DURABLE_ASYNC, 0 };
    if (text.len == 0 || view_is(text, "async"))
        return true;
    if (view_is(text, "fsync")) {
        durability->kind = DURABLE_FSYNC;
        return true;
    }
    durability->kind = DURABLE_REPLICA;
    return (view_starts(text, replica) &&
            parse_replicas((struct view){ text.data + len, text.len - len },
                           &durability->replicas)) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "durability is \"%.*s\", must be async, replica:N (1 to %d) "
                   "or fsync",
                   VIEW_ARG(view_head(text, 40)), DURABILITY_MAX_REPLICAS);
}

void durability_mark(struct command *command, struct key mark)
{
    command_init(command, "SET");
    command_add_copy(command, key_view(&mark));
    command_add_text(command, "1");
    command_add_text(command, "PX");
    command_add_text(command, "1000");
}

void durability_ask(struct command *command,
                    const struct durability *durability, uint64_t wait_ms)
{
    bool disk = durability->kind == DURABLE_FSYNC;

    assert(durability->kind != DURABLE_ASYNC && wait_ms > 0);
    command_init(command, disk ? "WAITAOF" : "WAIT");
    command_add_uint(command, disk ? 1 : durability->replicas);
    if (disk)
        command_add_text(command, "0"); /* replicas' disks */
    command_add_uint(command, wait_ms);
}

static bool told_of_disk(const redisReply *reply, struct err *err)
{
    bool whole = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                 reply->element[0]->type == REDIS_REPLY_INTEGER;

    return (whole && reply->element[0]->integer > 0) ||
           err_set(err, ERR_RETRY, "not_durable",
                   "the master has it in memory, not yet on its disk");
}

static bool told_of_replicas(const redisReply *reply, unsigned int wanted,
                             struct err *err)
{
    long long have = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;

    return have >= (long long)wanted ||
           err_set(err, ERR_RETRY, "not_durable",
                   "the master has it, and %lld of %u replicas", have, wanted);
}

/* A server that lacks the command, or what it needs: says what to change. */
static bool told_of_error(const struct durability *durability,
                          const redisReply *reply, struct err *err)
{
    struct view text = { reply->str, reply->len };
    bool lacks = view_starts(text, "ERR unknown command");

    if (lacks && durability->kind == DURABLE_FSYNC)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "durability fsync needs WAITAOF, which this server "
                       "lacks: Redis 7.2 or later, or Valkey, has it");
    if (lacks ||
        (durability->kind == DURABLE_REPLICA && view_starts(text, "NOPERM ")))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "durability replica needs WAIT, which this server or "
                       "login lacks (+wait; some services have it for nobody): "
                       "async or fsync do without");
    if (view_starts(text, "ERR WAITAOF cannot be used when"))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "durability fsync needs an append-only file, which this "
                       "server does not write: CONFIG SET appendonly yes, and "
                       "in its configuration");
    return reply_ok(reply, err);
}

bool durability_told(const struct durability *durability,
                     const redisReply *reply, struct err *err)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return told_of_error(durability, reply, err);
    return durability->kind == DURABLE_FSYNC
               ? told_of_disk(reply, err)
               : told_of_replicas(reply, durability->replicas, err);
}
