/* decide_request.c - what the model is asked, and what that may take. */
#include "consumer/conversation/decide.h"
#include "consumer/model/model_request.h"
#include "consumer/model/sampling.h"

bool decide_may_ask(const struct conversation *conversation,
                    const struct terms *terms, struct err *err)
{
    const struct model_endpoint *endpoint = terms->endpoint;
    if (!sampling_is_allowed(endpoint, conversation->parameters, err))
        return false;
    if (endpoint->price.known ||
        terms_budget(terms, conversation).max_cost == 0)
        return true;
    return err_set(err, ERR_REJECT, "bad_field",
                   "limits.max_cost: model %s has no price in the operator's "
                   "configuration, so that nothing would hold it",
                   endpoint->name);
}

size_t decide_pictures(const struct conversation *conversation,
                       const struct terms *terms,
                       struct picture pictures[MAX_SHOWN])
{
    return pictures_choose(conversation, terms->pictures, terms->picture_bytes,
                           pictures);
}

/* ------------------------------------------------------------------ plans */

static const char *last_by_turns(const struct conversation *conversation,
                                 const struct terms *terms)
{
    uint64_t wish = conversation->job->limits.max_turns;
    if (conversation->turn >= terms_least(wish, terms->max_turns))
        return "turn_limit";
    if (brake_before(conversation->deeds, conversation->result_count, 0,
                     terms->repeats) == BRAKE_LAST)
        return "loop";
    return "";
}

/* Nobody knows what became of a request that is under way: another one comes on
 * top of it. */
static struct budget budget_of(const struct conversation *conversation,
                               const struct terms *terms, enum ask_kind kind)
{
    const struct spending *spending = &conversation->spending;
    struct budget budget = terms_budget(terms, conversation);
    if (spending->asked && kind != ASK_AGAIN) {
        budget.tokens += spending->reserved;
        budget.cost += spending->cost;
    }
    return budget;
}

static struct ask ask_of(const struct terms *terms, const struct beside *beside,
                         const char *last)
{
    return (struct ask){
        .prompts = terms->prompts,
        .functions = terms->functions,
        .libraries = terms->libraries,
        .tools = terms->tools,
        .window = terms->endpoint->window,
        .pictures = beside->picture_count,
        .last = *last != '\0',
        .squeeze = beside->kind == ASK_LESS,
    };
}

static struct budget_plan plan_of(const struct budget *budget,
                                  const struct terms *terms,
                                  const struct decided *decided)
{
    const struct budget_request wish = {
        .tokens = decided->asked.expected,
        .reply = model_body_max_tokens(terms->endpoint, &decided->request),
        .price = &terms->endpoint->price,
        .last = decided->request.last,
    };
    return budget_plan(budget, &wish);
}

static bool write_request(const struct conversation *conversation,
                          const struct terms *terms,
                          const struct beside *beside, struct decided *decided,
                          struct err *err)
{
    const struct ask ask = ask_of(terms, beside, decided->last);
    if (!ask_write(conversation, &ask, &decided->asked, err))
        return false;
    pictures_place(decided->asked.messages, beside->pictures,
                   beside->picture_count);
    decided->request = (struct model_request){
        .messages = decided->asked.messages,
        .tools = terms->tools,
        .parameters = conversation->parameters,
        .last = ask.last,
        .pictures = beside->picture_count > 0,
        .max_tokens = terms_least(conversation->job->limits.max_tokens,
                                  terms->max_tokens),
    };
    const struct budget budget = budget_of(conversation, terms, beside->kind);
    decided->plan = plan_of(&budget, terms, decided);
    return true;
}

/* Its reply has the room that its request leaves. Models that think first need
 * more than the summary has. */
static uint64_t summary_tokens(const struct conversation *conversation,
                               const struct terms *terms)
{
    const struct model_request unbounded = { .max_tokens = 0 };
    uint64_t wish =
        terms_least(conversation->job->limits.max_tokens, terms->max_tokens);
    uint64_t own = model_body_max_tokens(terms->endpoint, &unbounded);
    uint64_t most = terms_least(own, BUDGET_MOST_REPLY);
    return terms_least(terms_least(wish, most), terms->endpoint->window / 4);
}

/* In the place of the turn's, which is let go then; it has to be paid for as
 * well. Near a limit what is left is for the answer. */
static void write_summary(const struct conversation *conversation,
                          const struct terms *terms,
                          const struct beside *beside, struct decided *decided)
{
    const struct ask ask = ask_of(terms, beside, decided->last);
    struct decided summary = { .last = "", .purpose = PURPOSE_SUMMARY };
    if (!ask_summary(conversation, &ask, &summary.asked))
        return;
    summary.request = (struct model_request){
        .messages = summary.asked.messages,
        .parameters = conversation->parameters,
        .max_tokens = summary_tokens(conversation, terms),
    };
    struct budget budget = budget_of(conversation, terms, beside->kind);
    budget.tokens += decided->plan.reserved;
    budget.cost += decided->plan.cost;
    summary.plan = plan_of(&budget, terms, &summary);
    bool fits = summary.plan.fits && *summary.plan.limit == '\0';
    json_decref(fits ? decided->asked.messages : summary.asked.messages);
    if (fits)
        *decided = summary;
}

/* The same, but for an answer. */
static bool write_last(const struct conversation *conversation,
                       const struct terms *terms, const struct beside *beside,
                       struct decided *decided, struct err *err)
{
    decided->last = decided->plan.limit;
    json_decref(decided->asked.messages);
    decided->asked.messages = NULL;
    return write_request(conversation, terms, beside, decided, err);
}

/* ------------------------------------------------------------------ limits */

static bool does_not_fit(const struct budget *budget, struct view code,
                         struct err *err)
{
    bool money = view_is(code, "cost_limit");
    if (!money)
        return err_set(err, ERR_REJECT, "token_limit",
                       "the next request does not fit into what is left of "
                       "max_total_tokens: %llu of %llu tokens are used up",
                       (unsigned long long)budget->tokens,
                       (unsigned long long)budget->max_tokens);
    return err_set(err, ERR_REJECT, "cost_limit",
                   "the next request does not fit into what is left of "
                   "max_cost: %s of %s is used up",
                   price_dollars(budget->cost).text,
                   price_dollars(budget->max_cost).text);
}

void decide_why_spent(const struct conversation *conversation,
                      const struct terms *terms, struct err *why)
{
    const struct budget budget = budget_of(conversation, terms, ASK_NEXT);
    bool money = view_is(conversation->last, "cost_limit");
    if (conversation->spent)
        does_not_fit(&budget, conversation->last, why);
    else
        err_set(why, ERR_REJECT, money ? "cost_limit" : "token_limit",
                "what was left of %s allowed no more than an answer",
                money ? "max_cost" : "max_total_tokens");
}

bool decide_request(const struct conversation *conversation,
                    const struct terms *terms, const struct beside *beside,
                    struct decided *decided, struct err *err)
{
    struct budget_plan *plan = &decided->plan;
    *decided = (struct decided){ .plan.fits = true };
    decided->last = last_by_turns(conversation, terms);
    if (!write_request(conversation, terms, beside, decided, err))
        return false;
    bool limited = plan->fits && *plan->limit != '\0';
    if (limited && *decided->last == '\0' &&
        !write_last(conversation, terms, beside, decided, err))
        return false;
    if (!plan->fits) {
        const struct budget budget =
            budget_of(conversation, terms, beside->kind);
        return does_not_fit(&budget, view_of(plan->limit), err);
    }
    if (!limited && terms->endpoint->summarises)
        write_summary(conversation, terms, beside, decided);
    if (plan->max_tokens > 0)
        decided->request.max_tokens = plan->max_tokens;
    return true;
}
