/* budget.c - what a conversation has used up, and how large its next request
 * may be within its limits. */
#include "consumer/conversation/budget.h"

#include <stdio.h>
#include <stdlib.h>

#include "schemas/message/limits.h"

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* -------------------------------------------------------------- spending */

/* What the records name is kept once; a conversation asks few models. */
static const char *keep_name(struct spending *spending, struct view name)
{
    for (size_t i = 0; i < spending->name_count; i++)
        if (view_is(name, spending->names[i]))
            return spending->names[i];
    spending->names = reallocarray(spending->names, spending->name_count + 1,
                                   sizeof(*spending->names));
    if (!spending->names)
        abort();
    return spending->names[spending->name_count++] = view_dup(name);
}

/* NULL: the model has no name (a refusal without cost has none), or there are
 * too many of them: then only the total counts. */
static struct model_usage *find_model(struct spending *spending,
                                      struct view name)
{
    for (size_t i = 0; i < spending->model_count; i++)
        if (view_equal(spending->models[i].name, name))
            return &spending->models[i];
    if (name.len == 0 || spending->model_count == MAX_MODELS)
        return NULL;
    spending->models = reallocarray(spending->models, spending->model_count + 1,
                                    sizeof(*spending->models));
    if (!spending->models)
        abort();
    struct model_usage *model = &spending->models[spending->model_count++];
    *model = (struct model_usage){ .name = view_of(keep_name(spending, name)) };
    return model;
}

static void count_reserved(struct spending *spending)
{
    struct model_usage *model = find_model(spending, view_of(spending->model));
    spending->usage.uncounted_tokens += spending->reserved;
    spending->usage.cost += spending->cost;
    if (!model)
        return;
    model->uncounted_tokens += spending->reserved;
    model->cost += spending->cost;
}

void spending_ask(struct spending *spending, const struct record *intent)
{
    if (spending->asked) {
        count_reserved(spending);
        spending->written += spending->reply;
    }
    spending->usage.repeated_calls += spending->asked;
    spending->asked = true;
    spending->model = keep_name(spending, intent->model);
    spending->reserved = intent->reserved;
    spending->cost = intent->cost;
    spending->reply = intent->reply;
}

void spending_settle(struct spending *spending, const struct record *record)
{
    struct usage *all = &spending->usage;
    const struct usage *one = &record->usage;
    struct model_usage *model = find_model(spending, record->model);
    spending->asked = false;
    spending->written += one->output_tokens;
    if (one->uncounted_tokens > 0) /* about four bytes are a token */
        spending->written +=
            smaller(one->uncounted_tokens, record->message.len / 4);
    all->input_tokens += one->input_tokens;
    all->output_tokens += one->output_tokens;
    all->cached_tokens += one->cached_tokens;
    all->cache_write_tokens += one->cache_write_tokens;
    all->uncounted_tokens += one->uncounted_tokens;
    all->cost += one->cost;
    all->model_calls += one->model_calls;
    if (!model)
        return;
    model->input_tokens += one->input_tokens;
    model->output_tokens += one->output_tokens;
    model->cached_tokens += one->cached_tokens;
    model->cache_write_tokens += one->cache_write_tokens;
    model->uncounted_tokens += one->uncounted_tokens;
    model->cost += one->cost;
    model->model_calls += one->model_calls;
}

struct usage spending_total(struct spending *spending)
{
    if (spending->asked) {
        count_reserved(spending);
        spending->reserved = spending->cost = 0;
    }
    struct usage total = spending->usage;
    total.models = (struct list){ spending->models, spending->model_count };
    return total;
}

uint64_t usage_tokens(const struct usage *usage)
{
    return usage->input_tokens + usage->output_tokens + usage->uncounted_tokens;
}

void spending_finish(struct spending *spending)
{
    for (size_t i = 0; i < spending->name_count; i++)
        free(spending->names[i]);
    free(spending->names);
    free(spending->models);
    *spending = (struct spending){ 0 };
}

/* ---------------------------------------------------------------- budget */

/* How long the reply may be, in tokens, when so many (follow) further requests
 * like this one must be paid for, each with a short reply. */
static uint64_t room_in_tokens(const struct budget *budget,
                               const struct budget_request *request,
                               uint64_t follow)
{
    uint64_t needed =
        request->tokens + follow * (request->tokens + BUDGET_REPLY);
    return budget->max_tokens > 0
               ? less(less(budget->max_tokens, budget->tokens), needed)
               : UINT64_MAX;
}

/* What models may still write, down to the last token. */
static uint64_t left_to_write(const struct budget *budget)
{
    return budget->max_written > 0 ? less(budget->max_written, budget->written)
                                   : UINT64_MAX;
}

/* Of what models may write so little is left that it is for an answer. A limit
 * that was small from the beginning is one of the reply's length, with which
 * the model may do as it likes. */
static bool must_end(const struct budget *budget)
{
    const uint64_t shortest = BUDGET_REPLY;
    uint64_t least = budget->max_written < 2 * shortest ? 1 : shortest;

    return left_to_write(budget) < least;
}

bool budget_is_of_written(const struct budget *budget)
{
    return budget->max_written > 0 &&
           (budget->max_tokens == 0 ||
            less(budget->max_written, budget->written) <=
                less(budget->max_tokens, budget->tokens));
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
    if (must_end(budget))
        plan.limit = "token_limit";
    plan.fits = plan.fits && left_to_write(budget) > 0;
    room = smaller(room, left_to_write(budget));
    uint64_t most = request->reply > 0 ? request->reply : BUDGET_MOST_REPLY;
    uint64_t reply = smaller(room, most);
    plan.max_tokens = room < most ? room : 0;
    plan.reserved = request->tokens + reply;
    if (request->price->known)
        plan.cost = price_at_most(request->price, request->tokens, reply);
    return plan;
}
