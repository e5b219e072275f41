/* spend.c - what an attempt's model calls take of its tenant's budget. What
 * they may take of the job's own limits is decided in conversation/. */
#include "consumer/attempt/attempt.h"
#include "consumer/conversation/window.h"

struct spend spend_reserve(const struct attempt *attempt)
{
    return (struct spend){ .verb = SPEND_RESERVE,
                           .tokens = attempt->decided.plan.reserved,
                           .cost = attempt->decided.plan.cost,
                           .priced = attempt->endpoint->price.known };
}

/* Without a count of its own it is estimated, and so counted. */
struct usage spend_usage(const struct attempt *attempt,
                         const struct model_reply *reply)
{
    const struct price *price = &attempt->endpoint->price;
    struct usage usage = reply->usage;
    uint64_t input = usage.input_tokens, output = usage.output_tokens;
    if (input == 0 && output == 0) {
        input = attempt->decided.asked.expected;
        output = window_tokens(reply->message);
        usage.uncounted_tokens = input + output;
    }
    if (!reply->has_cost && price->known)
        usage.cost = price_of(price, input, usage.cached_tokens, output);
    usage.model_calls = 1;
    return usage;
}

struct spend spend_settle(const struct attempt *attempt,
                          const struct usage *usage)
{
    return (struct spend){ .verb = SPEND_SETTLE,
                           .tokens = usage_tokens(usage),
                           .cost = usage->cost,
                           .priced = usage->cost > 0 ||
                                     attempt->endpoint->price.known };
}

/* ---------------------------------------------------------------- tenant */

static void say_bar(const struct spend_bar *bar, const struct attempt *attempt,
                    struct err *err)
{
    bool money = view_is(bar->setting, "tenant_cost");
    struct view tenant = attempt->job.tenant;
    if (tenant.len == 0)
        tenant = VIEW("default");
    const char *unit = money ? "micro-dollars" : "tokens";
    unsigned long long limit = bar->limit,
                       wish = money ? attempt->decided.plan.cost
                                    : attempt->decided.plan.reserved;
    if (bar->unpriced)
        err_set(err, ERR_REJECT, "tenant_budget",
                "tenant %.*s has a budget of %llu micro-dollars, and model %s "
                "has no price in the operator's configuration",
                VIEW_ARG(tenant), limit, attempt->endpoint->name);
    else if (bar->wait_ms == 0)
        err_set(err, ERR_REJECT, "tenant_budget",
                "the request may take %llu %s with its reply, tenant %.*s has "
                "%llu in %llu ms: less in max_tokens may do",
                wish, unit, VIEW_ARG(tenant), limit,
                (unsigned long long)bar->period_ms);
    else
        err_set(err, ERR_RETRY, "tenant_budget",
                "tenant %.*s has %llu %s in %llu ms, %llu are spent or "
                "reserved, and the request may take %llu: it may be made in "
                "%llu ms",
                VIEW_ARG(tenant), limit, unit,
                (unsigned long long)bar->period_ms,
                (unsigned long long)bar->spent, wish,
                (unsigned long long)bar->wait_ms);
}

bool spend_is_barred(struct attempt *attempt, const redisReply *reply)
{
    struct spend_bar bar;
    attempt->barred = false;
    if (!transition_spent(reply, &bar, &attempt->bar))
        attempt->bar_ms = 0;
    else if (bar.setting.len == 0)
        return false;
    else
        say_bar(&bar, attempt, &attempt->bar);
    attempt->bar_ms = bar.wait_ms;
    return attempt->barred = true;
}

enum turn spend_wait(struct attempt *attempt)
{
    struct err why = attempt->bar;
    attempt_drop_call(attempt);
    if (attempt->bar_ms == 0)
        return attempt_fail(attempt, &why);
    return attempt_rest(attempt, &why, attempt->bar_ms, VIEW("budget"), ASKING);
}
