/* spending.c - what a conversation has used up. */
#include "consumer/conversation/spending.h"

#include <stdlib.h>

#include "schemas/message/limits.h"

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
    if (spending->asked)
        count_reserved(spending);
    spending->usage.repeated_calls += spending->asked;
    spending->asked = true;
    spending->model = keep_name(spending, intent->model);
    spending->reserved = intent->reserved;
    spending->cost = intent->cost;
}

void spending_settle(struct spending *spending, const struct record *record)
{
    struct usage *all = &spending->usage;
    const struct usage *one = &record->usage;
    struct model_usage *model = find_model(spending, record->model);
    spending->asked = false;
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
