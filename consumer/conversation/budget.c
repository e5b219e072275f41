/* budget.c - what a job may still spend, and so how large a request may be. */
#include "consumer/conversation/budget.h"

#include <stdio.h>

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How long the reply may be, in tokens, when so many (follow) further requests
 * like this one must be paid for, each with a short reply. */
static uint64_t room_in_tokens(const struct budget *budget,
                               const struct budget_request *request,
                               uint64_t follow)
{
    uint64_t needed =
        request->tokens + follow * (request->tokens + BUDGET_REPLY);
    if (budget->max_tokens == 0)
        return UINT64_MAX;
    return less(less(budget->max_tokens, budget->tokens), needed);
}

static uint64_t room_in_money(const struct budget *budget,
                              const struct budget_request *request,
                              uint64_t follow)
{
    const struct price *price = request->price;
    uint64_t needed =
        price_at_most(price, request->tokens, 0) +
        follow * price_at_most(price, request->tokens, BUDGET_REPLY);
    uint64_t left = less(budget->max_cost, budget->cost);
    if (budget->max_cost == 0)
        return UINT64_MAX;
    return left < needed ? 0 : price_buys(price, left - needed);
}

struct price_text budget_amount(bool money, uint64_t amount)
{
    struct price_text said;
    if (money)
        return price_dollars(amount);
    snprintf(said.text, sizeof(said.text), "%llu tokens",
             (unsigned long long)amount);
    return said;
}

struct budget_plan budget_plan(const struct budget *budget,
                               const struct budget_request *request)
{
    uint64_t tokens = room_in_tokens(budget, request, 1);
    uint64_t money = room_in_money(budget, request, 1);
    struct budget_plan plan = { .fits = true, .limit = "" };
    uint64_t room = smaller(tokens, money);
    if (request->last || room < BUDGET_REPLY) {
        tokens = room_in_tokens(budget, request, 0);
        money = room_in_money(budget, request, 0);
        plan.fits = smaller(tokens, money) >= BUDGET_LEAST_REPLY;
        if (room < BUDGET_REPLY)
            plan.limit = money < tokens ? "cost_limit" : "token_limit";
        room = smaller(tokens, money);
    }
    uint64_t most = request->reply > 0 ? request->reply : BUDGET_MOST_REPLY;
    uint64_t reply = smaller(room, most);
    plan.max_tokens = room < most ? room : 0;
    plan.reserved = request->tokens + reply;
    if (request->price->known)
        plan.cost = price_at_most(request->price, request->tokens, reply);
    return plan;
}
