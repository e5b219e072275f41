/* hook.c - webhooks: what operators set, and what deliverers take and settle.
 */
#include "schemas/redis/hook.h"

#include "schemas/message/id.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/step.h"

bool hook_id_is_valid(struct view id)
{
    if (id.len != HOOK_ID_BYTES || !view_starts(id, "hook_"))
        return false;
    for (size_t i = 5; i < id.len; i++)
        if (!(id.data[i] >= '0' && id.data[i] <= '9') &&
            !(id.data[i] >= 'a' && id.data[i] <= 'f'))
            return false;
    return true;
}

static void hook_begin(struct command *command, const char *function,
                       const struct names *names, unsigned int partition,
                       struct view tenant, struct view id)
{
    step_begin(command, function, names, partition);
    command_add(command, tenant);
    command_add(command, id);
}

static void hook_add_pair(struct command *command, const char *name,
                          const char *value)
{
    if (!value)
        return;
    command_add_text(command, name);
    command_add_text(command, value);
}

void hook_set(struct command *command, const struct names *names,
              unsigned int partition, struct view tenant, struct view id,
              const struct hook_change *change)
{
    hook_begin(command, "quern_v1_hook_set", names, partition, tenant, id);
    hook_add_pair(command, "url", change->url);
    hook_add_pair(command, "secret", change->secret);
    hook_add_pair(command, "name", change->name);
    hook_add_pair(command, "events", change->events);
    hook_add_pair(command, "disabled", change->disabled);
    step_add_number(command, "keep_ms", change->keep_ms);
}

void hook_remove(struct command *command, const struct names *names,
                 unsigned int partition, struct view tenant, struct view id)
{
    hook_begin(command, "quern_v1_hook_rm", names, partition, tenant, id);
}

void hook_test(struct command *command, const struct names *names,
               unsigned int partition, struct view tenant, struct view id,
               struct view job)
{
    hook_begin(command, "quern_v1_hook_test", names, partition, tenant, id);
    command_add(command, job);
}

bool hook_was_there(const redisReply *reply, bool *was, struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    *was = step_uint(reply) == 1;
    return true;
}

void hook_list(struct command *command, const struct names *names,
               unsigned int partition, struct view tenant)
{
    step_begin(command, "quern_v1_hook_list", names, partition);
    command_add(command, tenant);
}

bool hook_listed(const redisReply *reply, size_t *count, struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 3 != 0)
        return step_misfit(err, "hook_list");
    *count = reply->elements / 3;
    return true;
}

/* --------------------------------------------------------------- deliveries */

void hook_take(struct command *command, const struct names *names,
               unsigned int partition, uint64_t lease_ms, uint64_t count)
{
    step_begin(command, "quern_v1_deliver_take", names, partition);
    command_add_uint(command, lease_ms);
    command_add_uint(command, count);
}

bool hook_taken(const redisReply *reply, size_t *count, struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    if (reply->type != REDIS_REPLY_ARRAY)
        return step_misfit(err, "deliver_take");
    *count = reply->elements;
    return true;
}

/* Takes job and hook from the name: <job>/<at>/<hook>. */
static bool split_name(struct hook_delivery *delivery)
{
    struct view name = delivery->name;
    unsigned int partition;

    if (name.len < ID_LEN + HOOK_ID_BYTES)
        return false;
    delivery->job = view_head(name, ID_LEN);
    delivery->hook =
        (struct view){ name.data + name.len - HOOK_ID_BYTES, HOOK_ID_BYTES };
    return id_parse(delivery->job, &partition) &&
           hook_id_is_valid(delivery->hook);
}

bool hook_taken_one(const redisReply *reply, struct hook_delivery *delivery,
                    struct err *err)
{
    redisReply **part = step_expect(reply, "deliver_take", 8, err);

    if (!part)
        return false;
    *delivery = (struct hook_delivery){
        .name = step_text(part[0]),
        .taken = step_uint(part[1]),
        .tries = step_uint(part[2]),
        .state = step_text(part[3]),
        .at = step_uint(part[4]),
        .tenant = step_text(part[5]),
        .url = step_text(part[6]),
    };
    for (size_t i = 7; i < reply->elements; i++)
        if (delivery->secret_count < HOOK_SECRETS)
            delivery->secrets[delivery->secret_count++] = step_text(part[i]);
    return split_name(delivery) || step_misfit(err, "deliver_take");
}

void hook_settle(struct command *command, const struct names *names,
                 unsigned int partition,
                 const struct hook_settlement *settlement)
{
    static const char *const outcomes[] = {
        [HOOK_DONE] = "done",   [HOOK_AGAIN] = "again",
        [HOOK_LATER] = "later", [HOOK_GIVEN_UP] = "given_up",
        [HOOK_GONE] = "gone",
    };

    step_begin(command, "quern_v1_deliver_done", names, partition);
    command_add(command, settlement->name);
    command_add_uint(command, settlement->taken);
    command_add_text(command, outcomes[settlement->outcome]);
    command_add_uint(command, settlement->wait_ms);
    command_add_uint(command, settlement->status);
    command_add(command, settlement->why);
}
