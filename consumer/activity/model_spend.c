/* model_spend.c - what model calls take of their tenant's budget. (The job's
 * own limits are in conversation/budget.h.) What a call may take at most is
 * reserved in the step that writes its intent, and settled in the one that
 * writes its reply or refusal. So both count once, however often they are sent.
 */
#include "consumer/activity/model_turn.h"
#include "consumer/conversation/window.h"

struct spend spend_reserve(const struct model_turn *turn)
{
    return (struct spend){ .verb = SPEND_RESERVE,
                           .tokens = turn->plan.bounds.reserved,
                           .cost = turn->plan.bounds.cost,
                           .priced =
                               turn->activity.attempt->endpoint->price.known };
}

static uint64_t cost_of(const struct model_turn *turn,
                        const struct usage *usage)
{
    const struct price_tokens tokens = { .input = usage->input_tokens,
                                         .cached = usage->cached_tokens,
                                         .written = usage->cache_write_tokens,
                                         .output = usage->output_tokens };
    return price_of(&turn->activity.attempt->endpoint->price, tokens);
}

/* An endpoint may count nothing. Then the tokens are estimated: the usage says
 * so (uncounted_tokens), and they cost what counted ones would. */
struct usage spend_usage(const struct model_turn *turn,
                         const struct model_reply *reply)
{
    struct usage usage = reply->usage, counted = usage;
    if (usage.input_tokens == 0 && usage.output_tokens == 0) {
        counted.input_tokens = turn->plan.content.expected;
        counted.output_tokens = window_tokens(reply->message);
        usage.uncounted_tokens = counted.input_tokens + counted.output_tokens;
    }
    if (!reply->has_cost && turn->activity.attempt->endpoint->price.known)
        usage.cost = cost_of(turn, &counted);
    usage.model_calls = 1;
    return usage;
}

struct usage spend_failure(const struct model_turn *turn)
{
    const struct model_failure *failure = &turn->failure;
    struct usage usage = failure->usage;
    bool counted = usage.input_tokens > 0 || usage.output_tokens > 0;
    if (counted && !failure->has_cost &&
        turn->activity.attempt->endpoint->price.known)
        usage.cost = cost_of(turn, &usage);
    return counted ? usage : (struct usage){ 0 };
}

struct spend spend_settle(const struct model_turn *turn,
                          const struct usage *usage)
{
    return (struct spend){ .verb = SPEND_SETTLE,
                           .tokens = usage_tokens(usage),
                           .cost = usage->cost,
                           .priced =
                               usage->cost > 0 ||
                               turn->activity.attempt->endpoint->price.known };
}

/* ---------------------------------------------------------------- tenant */

static void say_bar(const struct spend_bar *bar, const struct model_turn *turn,
                    struct err *err)
{
    bool money = view_is(bar->setting, "tenant_cost");
    struct view tenant = names_or_default(turn->activity.attempt->job.tenant);
    const struct budget_plan *plan = &turn->plan.bounds;
    struct price_text limit = budget_amount(money, bar->limit),
                      spent = budget_amount(money, bar->spent),
                      wish = budget_amount(money,
                                           money ? plan->cost : plan->reserved);
    if (bar->unpriced)
        err_set(err, ERR_REJECT, "tenant_budget",
                "tenant %.*s has a budget of %s, and model %s has no price in "
                "the operator's configuration",
                VIEW_ARG(tenant), limit.text,
                turn->activity.attempt->endpoint->name);
    else if (bar->wait_ms == 0)
        err_set(err, ERR_REJECT, "tenant_budget",
                "the request may take %s with its reply, tenant %.*s has %s in "
                "%llu ms: less in max_tokens may do",
                wish.text, VIEW_ARG(tenant), limit.text,
                (unsigned long long)bar->period_ms);
    else
        err_set(err, ERR_RETRY, "tenant_budget",
                "tenant %.*s has %s in %llu ms; %s of it %s spent or reserved, "
                "and the request may take %s: it may be made in %llu ms",
                VIEW_ARG(tenant), limit.text,
                (unsigned long long)bar->period_ms, spent.text,
                money ? "is" : "are", wish.text,
                (unsigned long long)bar->wait_ms);
}

bool spend_is_barred(struct model_turn *turn, const redisReply *reply)
{
    struct spend_bar bar;
    turn->barred = false;
    if (!transition_spent(reply, &bar, &turn->bar))
        turn->bar_ms = 0;
    else if (bar.setting.len == 0)
        return false;
    else
        say_bar(&bar, turn, &turn->bar);
    turn->bar_ms = bar.wait_ms;
    return turn->barred = true;
}

/* No budget of the tenant will ever allow it, or not before bar_ms have passed.
 */
enum pace spend_wait(struct model_turn *turn)
{
    struct attempt *attempt = turn->activity.attempt;
    struct err why = turn->bar;
    turn_drop_call(turn);
    if (turn->bar_ms == 0 && turn->plan.purpose == PURPOSE_SUMMARY)
        return turn_forgo_summary(turn, &why);
    if (turn->bar_ms == 0)
        return activity_fail(&turn->activity, &why);
    enum delay delay = wait_rest(attempt, &why, turn->bar_ms, VIEW("budget"));
    return turn_delay(turn, delay, &why, TURN_ASKING);
}
