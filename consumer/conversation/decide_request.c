/* decide_request.c - decides the next request, and what it may cost. */
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

size_t decide_images(const struct conversation *conversation,
                     const struct terms *terms,
                     struct request_image images[MAX_SHOWN])
{
    return images_choose(conversation, terms->pictures, terms->picture_bytes,
                         images);
}

/* ------------------------------------------------------------------ plans */

/* Why the next reply must be the answer, limits of tokens and money aside. */
static const char *last_by_turns(const struct conversation *conversation,
                                 const struct terms *terms)
{
    uint64_t wish = conversation->job->limits.max_turns;
    if (conversation->turn >= terms_least(wish, terms->max_turns))
        return "turn_limit";
    if (brake_before(conversation->digests, conversation->result_count, 0,
                     terms->repeats) == BRAKE_LAST)
        return "loop";
    return "";
}

/* A request that is still open may have been paid for, so what is reserved for
 * it counts as spent; but not when it is composed once more itself. */
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

static struct ask ask_of(const struct terms *terms,
                         const struct request_context *context,
                         const char *last)
{
    return (struct ask){
        .prompts = terms->prompts,
        .functions = terms->functions,
        .libraries = terms->libraries,
        .tools = terms->tools,
        .window = terms->endpoint->window,
        .pictures = context->image_count,
        .last = *last != '\0',
        .squeeze = context->kind == ASK_LESS,
    };
}

static struct budget_plan plan_of(const struct budget *budget,
                                  const struct terms *terms,
                                  const struct model_plan *plan)
{
    const struct budget_request wish = {
        .tokens = plan->content.expected,
        .reply = model_body_max_tokens(terms->endpoint, &plan->request),
        .price = &terms->endpoint->price,
        .last = plan->request.last,
    };
    return budget_plan(budget, &wish);
}

static bool write_request(const struct conversation *conversation,
                          const struct terms *terms,
                          const struct request_context *context,
                          struct model_plan *plan, struct err *err)
{
    const struct ask ask = ask_of(terms, context, plan->last);
    if (!ask_write(conversation, &ask, &plan->content, err))
        return false;
    images_place(plan->content.messages, context->images, context->image_count);
    plan->request = (struct model_request){
        .messages = plan->content.messages,
        .tools = terms->tools,
        .parameters = conversation->parameters,
        .last = ask.last,
        .pictures = context->image_count > 0,
        .max_tokens = terms_least(conversation->job->limits.max_tokens,
                                  terms->max_tokens),
    };
    const struct budget budget = budget_of(conversation, terms, context->kind);
    plan->bounds = plan_of(&budget, terms, plan);
    return true;
}

/* The bound of the reply that is to be a summary: a quarter of the window at
 * most. It is larger than a summary may be, since models that think first need
 * more. */
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

/* Replaces the plan of the turn by one for a summary, if there is anything to
 * be summarised. The turn's request must be affordable after it; near a limit
 * there is no summary, for what is left is for the answer. */
static void write_summary(const struct conversation *conversation,
                          const struct terms *terms,
                          const struct request_context *context,
                          struct model_plan *plan)
{
    const struct ask ask = ask_of(terms, context, plan->last);
    struct model_plan summary = { .last = "", .purpose = PURPOSE_SUMMARY };
    if (!ask_summary(conversation, &ask, &summary.content))
        return;
    summary.request = (struct model_request){
        .messages = summary.content.messages,
        .parameters = conversation->parameters,
        .max_tokens = summary_tokens(conversation, terms),
    };
    struct budget budget = budget_of(conversation, terms, context->kind);
    budget.tokens += plan->bounds.reserved;
    budget.cost += plan->bounds.cost;
    summary.bounds = plan_of(&budget, terms, &summary);
    bool fits = summary.bounds.fits && *summary.bounds.limit == '\0';
    json_decref(fits ? plan->content.messages : summary.content.messages);
    if (fits)
        *plan = summary;
}

/* Writes the request anew, as one that asks for the last answer. */
static bool write_last(const struct conversation *conversation,
                       const struct terms *terms,
                       const struct request_context *context,
                       struct model_plan *plan, struct err *err)
{
    plan->last = plan->bounds.limit;
    json_decref(plan->content.messages);
    plan->content.messages = NULL;
    return write_request(conversation, terms, context, plan, err);
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
                    const struct terms *terms,
                    const struct request_context *context,
                    struct model_plan *plan, struct err *err)
{
    struct budget_plan *bounds = &plan->bounds;
    *plan = (struct model_plan){ .bounds.fits = true };
    plan->last = last_by_turns(conversation, terms);
    if (!write_request(conversation, terms, context, plan, err))
        return false;
    bool limited = bounds->fits && *bounds->limit != '\0';
    if (limited && *plan->last == '\0' &&
        !write_last(conversation, terms, context, plan, err))
        return false;
    if (!bounds->fits) {
        const struct budget budget =
            budget_of(conversation, terms, context->kind);
        return does_not_fit(&budget, view_of(bounds->limit), err);
    }
    if (!limited && terms->endpoint->summarises)
        write_summary(conversation, terms, context, plan);
    if (bounds->max_tokens > 0)
        plan->request.max_tokens = bounds->max_tokens;
    return true;
}
