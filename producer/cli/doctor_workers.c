/* doctor_workers.c - do some workers serve, and are they alike? By what they
 * report of themselves. */
#include <jansson.h>
#include <string.h>

#include "producer/cli/doctor.h"

static bool worker_is_there(const struct quern_worker *worker)
{
    return worker->seen_at > 0;
}

static bool worker_serves(const struct quern_worker *worker)
{
    return worker_is_there(worker) && !worker->draining &&
           strcmp(worker->mode, "serving") == 0;
}

/* Nobody takes jobs any more, though there are workers. */
static bool find_all_leaving(struct doctor *doctor)
{
    const struct quern_workers *workers = &doctor->workers;
    size_t there = 0, serving = 0, drained = 0;

    for (size_t i = 0; i < workers->count; i++) {
        there += worker_is_there(&workers->items[i]);
        serving += worker_serves(&workers->items[i]);
        drained += workers->items[i].draining;
    }
    if (workers->count == 0 || serving > 0 || there + drained == 0)
        return false;
    find(doctor, FAULT, "workers",
         drained > 0 ? "quern worker resume NAME (quern worker ls), then start "
                       "it again where it has ended"
                     : "start a quern-consumer",
         "none of %zu takes jobs: %zu shall drain", workers->count, drained);
    return true;
}

/* --- versions ------------------------------------------------------------- */

static bool find_versions(struct doctor *doctor)
{
    const struct quern_workers *workers = &doctor->workers;
    const struct quern_worker *first = NULL;

    for (size_t i = 0; i < workers->count; i++) {
        const struct quern_worker *worker = &workers->items[i];

        if (!worker_is_there(worker))
            continue;
        first = first ? first : worker;
        if (strcmp(first->version, worker->version) == 0)
            continue;
        find(doctor, WARNING, "workers",
             "finish the upgrade: drain and restart the older one "
             "(deploy/README.md, Upgrade)",
             "their versions differ: %s is %s, %s is %s", first->name,
             first->version, worker->name, worker->version);
        return true;
    }
    return false;
}

/* --- settings ------------------------------------------------------------- */

/* How many of the models in one array are in the other. */
static size_t count_common(const json_t *one, const json_t *other)
{
    size_t count = 0, i, k;
    json_t *a, *b;

    json_array_foreach(one, i, a)
        json_array_foreach(other, k, b)
            count += json_equal(a, b) != 0;
    return count;
}

/* Two workers of the same queues. */
static bool find_models(struct doctor *doctor, const struct quern_worker *one,
                        const struct quern_worker *other)
{
    json_t *a = json_loads(one->models ? one->models : "[]", 0, NULL);
    json_t *b = json_loads(other->models ? other->models : "[]", 0, NULL);
    size_t all = json_array_size(a), those = json_array_size(b);
    size_t common = count_common(a, b);
    bool differ = all > 0 && those > 0 && (common < all || common < those);

    json_decref(a);
    json_decref(b);
    if (differ && common == 0)
        find(doctor, WARNING, "workers",
             "if these are two fleets, give one of them another prefix "
             "(QUERN_PREFIX) or a queue of its own; else the same models",
             "%s (on %s) and %s (on %s) serve the same queues and have no "
             "model in common: two fleets on the prefix %s?",
             one->name, one->host, other->name, other->host,
             doctor->names.prefix);
    else if (differ)
        find(doctor, WARNING, "workers",
             "give all consumers of a queue the same settings (QUERN_MODELS, "
             "OPENAI_MODEL), then HUP or restart them",
             "the models of %s and %s differ, so a job's luck decides whether "
             "its model is known",
             one->name, other->name);
    return differ;
}

static bool find_executors(struct doctor *doctor,
                           const struct quern_worker *one,
                           const struct quern_worker *other)
{
    bool first = strcmp(one->executor, "none") == 0;

    if (first == (strcmp(other->executor, "none") == 0))
        return false;
    find(doctor, WARNING, "workers",
         "give it one (QUERN_EXECUTOR), or queues of its own",
         "%s is set up without an executor, and %s of the same queues has one: "
         "a job's luck decides whether its code is run",
         first ? one->name : other->name, first ? other->name : one->name);
    return true;
}

static bool find_settings(struct doctor *doctor)
{
    const struct quern_workers *workers = &doctor->workers;
    const struct quern_worker *first = NULL;
    bool found = false;

    for (size_t i = 0; i < workers->count && !found; i++) {
        const struct quern_worker *worker = &workers->items[i];

        if (!worker_serves(worker))
            continue;
        first = first ? first : worker;
        if (strcmp(first->queues, worker->queues) == 0)
            found = find_models(doctor, first, worker) ||
                    find_executors(doctor, first, worker);
    }
    return found;
}

void check_workers(struct doctor *doctor)
{
    size_t there = 0;
    bool leaving = find_all_leaving(doctor);
    bool mixed = find_versions(doctor);
    bool unlike = find_settings(doctor);

    for (size_t i = 0; i < doctor->workers.count; i++)
        there += worker_is_there(&doctor->workers.items[i]);
    if (there > 0 && !leaving && !mixed && !unlike)
        find(doctor, FINE, "workers", NULL, "%zu, %s", there,
             there == 1 ? "which serves" : "alike");
}
