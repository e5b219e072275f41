/* spend.c - the commands of library/journal.lua that spend. */
#include "schemas/redis/spend.h"

#include "schemas/redis/step.h"

void transition_spend(struct command *command, const struct names *names,
                      const struct spend *spend,
                      const struct event_text *events, size_t count)
{
    step_begin_held(command, "quern_v1_spend", names, spend->lease);
    command_add_uint(command, spend->index);
    command_add(command, spend->record);
    command_add_text(command,
                     spend->verb == SPEND_RESERVE ? "reserve" : "settle");
    command_add_uint(command, spend->tokens);
    if (spend->priced)
        command_add_uint(command, spend->cost);
    else
        command_add_text(command, "");
    step_add_events(command, events, count);
}

enum bar_part { /* as bar_of() in budget.lua has them */
                BAR_SETTING,
                BAR_UNPRICED,
                BAR_LIMIT,
                BAR_SPENT,
                BAR_PERIOD,
                BAR_WAIT,
                BAR_PARTS,
};

bool transition_spent(const redisReply *reply, struct spend_bar *bar,
                      struct err *err)
{
    *bar = (struct spend_bar){ 0 };
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        return true;
    redisReply **part = step_expect(reply, "spend", BAR_PARTS, err);
    if (!part)
        return false;
    *bar = (struct spend_bar){
        .setting = step_text(part[BAR_SETTING]),
        .unpriced = step_uint(part[BAR_UNPRICED]),
        .limit = step_uint(part[BAR_LIMIT]),
        .spent = step_uint(part[BAR_SPENT]),
        .period_ms = step_uint(part[BAR_PERIOD]),
        .wait_ms = step_uint(part[BAR_WAIT]),
    };
    return bar->setting.len > 0 || step_misfit(err, "spend");
}
