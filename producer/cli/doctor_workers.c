/* doctor_workers.c - do some workers serve, and are they alike? By what they
 * report of themselves. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"

enum {
    MOST_NAMES = 3, /* of workers that say the same */
    MOST_VALUE = 40,
    MOST_TOLD = 400, /* bytes of a finding */
};

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

/* --- what they should say alike ------------------------------------------- */

/* Something that workers say of themselves: their version, a setting. */
struct trait {
    const char *name;
    struct view (*value)(const struct quern_worker *worker, const char *name);
    const char *queues; /* only workers of these are compared; NULL: all */
};

static struct view version_of(const struct quern_worker *worker,
                              const char *name)
{
    (void)name;
    return view_of(worker->version);
}

/* No data: it has not said. */
static struct view setting_of(const struct quern_worker *worker,
                              const char *name)
{
    size_t len = strlen(name);
    const char *line = worker->settings;

    while (line && *line) {
        size_t end = strcspn(line, "\n");

        if (strncmp(line, name, len) == 0 && line[len] == '=')
            return (struct view){ line + len + 1, end - len - 1 };
        line += end + (line[end] == '\n');
    }
    return (struct view){ 0 };
}

/* No data: the worker is not among those that are compared. */
static struct view value_at(const struct quern_workers *workers, size_t i,
                            const struct trait *trait)
{
    const struct quern_worker *worker = &workers->items[i];

    if (!worker_is_there(worker) ||
        (trait->queues && strcmp(worker->queues, trait->queues) != 0))
        return (struct view){ 0 };
    return trait->value(worker, trait->name);
}

/* The first worker that has this value. */
static size_t first_with(const struct quern_workers *workers,
                         const struct trait *trait, struct view value)
{
    size_t i = 0;

    while (i < workers->count) {
        struct view its = value_at(workers, i, trait);

        if (its.data && view_equal(its, value))
            break;
        i++;
    }
    return i;
}

/* Adds "30s (one, two, three and 5 more)". */
static void tell_value(const struct quern_workers *workers,
                       const struct trait *trait, struct view value,
                       struct buf *out)
{
    struct view shown = value.len > 0 ? value : VIEW("none");
    size_t count = 0;

    if (shown.len > MOST_VALUE)
        shown.len = MOST_VALUE;
    buf_printf(out, "%s%.*s (", out->len > 0 ? ", " : "", VIEW_ARG(shown));
    for (size_t i = 0; i < workers->count; i++) {
        struct view its = value_at(workers, i, trait);

        if (!its.data || !view_equal(its, value))
            continue;
        if (count < MOST_NAMES)
            buf_printf(out, "%s%s", count > 0 ? ", " : "",
                       workers->items[i].name);
        count++;
    }
    if (count > MOST_NAMES)
        buf_printf(out, " and %zu more", count - MOST_NAMES);
    buf_add(out, VIEW(")"));
}

static bool find_unlike(struct doctor *doctor, const struct trait *trait,
                        const char *remedy)
{
    const struct quern_workers *workers = &doctor->workers;
    CLEANUP(buf_finish) struct buf told;
    size_t values = 0;

    buf_init(&told, MOST_TOLD);
    for (size_t i = 0; i < workers->count; i++) {
        struct view value = value_at(workers, i, trait);

        if (!value.data || first_with(workers, trait, value) != i)
            continue;
        values++;
        tell_value(workers, trait, value, &told);
    }
    if (values > 1)
        find(doctor, WARNING, "workers", remedy, "%s differs: %.*s%s",
             trait->name, VIEW_ARG(buf_view(&told)),
             buf_ok(&told) ? "" : " ...");
    return values > 1;
}

static bool find_versions(struct doctor *doctor)
{
    return find_unlike(doctor, &(struct trait){ "version", version_of, NULL },
                       "finish the upgrade: drain and restart the older ones "
                       "(deploy/README.md, Upgrade)");
}

/* The settings that this worker reports, over those of the same queues. */
static bool find_settings_of(struct doctor *doctor,
                             const struct quern_worker *worker)
{
    const char *line = worker->settings;
    bool found = false;

    while (line && *line) {
        char name[64], remedy[160 + sizeof(name)];
        const struct trait trait = { name, setting_of, worker->queues };

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "=\n"), line);
        snprintf(remedy, sizeof(remedy),
                 "give all consumers of a queue the same --%s, or queues of "
                 "their own; then restart them",
                 name);
        found = find_unlike(doctor, &trait, remedy) || found;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return found;
}

/* Once for each set of queues, by the first worker that has reported them. */
static bool find_settings(struct doctor *doctor)
{
    const struct quern_workers *workers = &doctor->workers;
    bool found = false;

    for (size_t i = 0; i < workers->count; i++) {
        size_t k = 0;

        while (k < i && (!workers->items[k].settings ||
                         strcmp(workers->items[k].queues,
                                workers->items[i].queues) != 0))
            k++;
        if (k == i)
            found = find_settings_of(doctor, &workers->items[i]) || found;
    }
    return found;
}

/* --- what jobs find ------------------------------------------------------- */

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

static bool find_unlucky(struct doctor *doctor)
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

/* --- clocks, and the time to drain ---------------------------------------- */

/* How far the clock of its host was ahead of Redis's at its report. */
static int64_t ahead_ms(const struct quern_worker *worker)
{
    return worker->clock > 0 ? (int64_t)(worker->clock - worker->seen_at) : 0;
}

static void check_clocks(struct doctor *doctor)
{
    const struct quern_workers *workers = &doctor->workers;
    size_t told = 0, off = 0;

    for (size_t i = 0; i < workers->count; i++) {
        const struct quern_worker *worker = &workers->items[i];

        if (!worker_is_there(worker) || worker->clock == 0)
            continue;
        told++;
        off += doctor_find_clock(doctor, "clocks", ahead_ms(worker),
                                 "that of host %s, of worker %s,", worker->host,
                                 worker->name);
    }
    if (told > 0 && off == 0)
        find(doctor, FINE, "clocks", NULL, "of %zu worker%s, as Redis's", told,
             told == 1 ? "" : "s");
}

/* What a consumer needs after its drain to hand back its jobs and to leave, as
 * its own log reckons (grace.short). */
enum { LEAVE_MS = 6000 };

static void check_grace(struct doctor *doctor)
{
    const struct quern_workers *workers = &doctor->workers;
    size_t told = 0, few = 0;

    for (size_t i = 0; i < workers->count; i++) {
        const struct quern_worker *worker = &workers->items[i];

        if (!worker_is_there(worker) || worker->grace_ms == 0)
            continue;
        told++;
        if (worker->grace_ms >= worker->drain_ms + LEAVE_MS)
            continue;
        few++;
        find(doctor, WARNING, "grace",
             "give it more time (TimeoutStopSec, "
             "terminationGracePeriodSeconds) and say so by --grace, or lower "
             "--drain",
             "worker %s on %s is killed %s after TERM, drains for %s and then "
             "needs %s to hand back its jobs",
             worker->name, worker->host, term_time(worker->grace_ms),
             term_time(worker->drain_ms), term_time(LEAVE_MS));
    }
    if (told > 0 && few == 0)
        find(doctor, FINE, "grace", NULL, "%zu worker%s the time to drain",
             told, told == 1 ? " has" : "s have");
}

/* --- all ------------------------------------------------------------------ */

static void list_worker(struct doctor *doctor,
                        const struct quern_worker *worker)
{
    char clock[32] = "not known", grace[48] = "when is not known";

    if (worker->clock > 0)
        snprintf(clock, sizeof(clock), "%+" PRId64 " ms", ahead_ms(worker));
    if (worker->grace_ms > 0)
        snprintf(grace, sizeof(grace), "after %s", term_time(worker->grace_ms));
    find(doctor, FINE, "workers", NULL,
         "%s on %s: version %s, queues %s, clock %s, drains for %s, is killed "
         "%s",
         worker->name, worker->host, worker->version, worker->queues, clock,
         term_time(worker->drain_ms), grace);
}

void check_workers(struct doctor *doctor)
{
    const struct quern_workers *workers = &doctor->workers;
    size_t there = 0;
    bool leaving = find_all_leaving(doctor);
    bool mixed = find_versions(doctor);
    bool unlike = find_settings(doctor);
    bool unlucky = find_unlucky(doctor);

    for (size_t i = 0; i < workers->count; i++)
        there += worker_is_there(&workers->items[i]);
    if (there > 0 && !leaving && !mixed && !unlike && !unlucky)
        find(doctor, FINE, "workers", NULL, "%zu, %s", there,
             there == 1 ? "which serves" : "alike");
    for (size_t i = 0; i < workers->count && doctor->app->options.fleet; i++)
        if (worker_is_there(&workers->items[i]))
            list_worker(doctor, &workers->items[i]);
    check_clocks(doctor);
    check_grace(doctor);
}
