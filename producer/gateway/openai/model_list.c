/* model_list.c - see model_list.h. */
#include "producer/gateway/openai/model_list.h"

#include <stdlib.h>
#include <string.h>

enum {
    FRESH_MS = 1000,      /* a name that is not on it is not looked for again */
    NAMED_MS = 60 * 1000, /* a name that is on it counts */
    LOOK_MS = 10 * 1000,  /* a look may take */
};

struct model_list {
    json_t *names;  /* without doubles, in the order of the reports */
    size_t silent;  /* consumers that have not said their models */
    size_t telling; /* those that have */
    uint64_t taken; /* the loop's clock; 0: never */
    uint64_t asked; /* when one was told last that the list is old */
};

void model_look_run(struct model_look *look, struct quern *quern)
{
    look->known = quern_workers(quern, &look->workers, &look->error);
}

void model_look_finish(struct model_look *look)
{
    quern_workers_free(&look->workers);
}

struct model_list *model_list_new(void)
{
    struct model_list *list = calloc(1, sizeof(*list));

    if (!list)
        abort();
    list->names = json_array();
    return list;
}

void model_list_free(struct model_list *list)
{
    if (list)
        json_decref(list->names);
    free(list);
}

static bool list_names(const struct model_list *list, const char *name)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list->names, i, one)
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

static void list_add(struct model_list *list, const json_t *models)
{
    json_t *one;
    size_t i;

    json_array_foreach(models, i, one)
        if (json_is_string(one) && !list_names(list, json_string_value(one)))
            json_array_append(list->names, one);
}

void model_list_take(struct model_list *list, const struct model_look *look,
                     uint64_t now)
{
    json_array_clear(list->names);
    list->taken = now;
    list->silent = list->telling = 0;
    for (size_t i = 0; i < look->workers.count; i++) {
        const struct quern_worker *worker = &look->workers.items[i];
        json_t *models;

        if (worker->seen_at == 0)
            continue; /* it is to drain, and is not there */
        models = worker->models ? json_loads(worker->models, 0, NULL) : NULL;
        list->telling += models != NULL;
        list->silent += models == NULL;
        list_add(list, models);
        json_decref(models);
    }
}

const json_t *model_list_names(const struct model_list *list)
{
    return list->names;
}

bool model_list_has(const struct model_list *list, const char *name)
{
    return list->telling == 0 || list->silent > 0 || list_names(list, name);
}

bool model_list_knows(struct model_list *list, const char *name, uint64_t now)
{
    bool is_new = list->taken > 0 && now < list->taken + FRESH_MS;
    bool is_old = now >= list->taken + NAMED_MS;

    if (is_new || !list_names(list, name))
        return is_new;
    if (is_old && now >= list->asked + LOOK_MS) {
        list->asked = now;
        return false;
    }
    return true;
}
