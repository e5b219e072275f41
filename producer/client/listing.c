/* listing.c - quern_list(): jobs of all partitions, filtered and sorted;
 * quern_tidy(): removes jobs that ended long ago. */
#include "schemas/redis/listing.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"

/* States in the order of QUERN_BY_PLACE. Each group is read from all partitions
 * before the next one: so all running jobs come before any job that waits. */
static const char *const groups[] = {
    "in_progress",
    "queued",
    "scheduled waiting",
    "completed incomplete failed cancelled",
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]), ENDED = GROUPS - 1 };

struct job_search {
    struct quern *quern;
    const struct quern_filter *filter;
    struct job_filter asked;
    struct quern_listing *found;
    void *ids; /* search tree of the ids that were found: a job that moves while
                  it is listed may come twice */
    uint64_t most; /* skip + limit */
};

/* ------------------------------------------------------------------ order */

/* For by_runtime(), to which qsort() passes no argument: the time of the sort
 * that runs. Each thread has a handle, and so a sort, of its own. */
static _Thread_local uint64_t listing_now;

/* The greater number first; equal ones by id, so that pages (skip, limit) fit
 * together. */
static int by_number(uint64_t one, uint64_t other, const void *a, const void *b)
{
    const struct quern_listed_job *first = a, *second = b;

    if (one == other)
        return strcmp(first->id, second->id);
    return one > other ? -1 : 1;
}

static int by_age(const void *a, const void *b)
{
    const struct quern_listed_job *one = a, *other = b;

    return by_number(other->submitted_at, one->submitted_at, a, b);
}

static uint64_t runtime(const struct quern_listed_job *job, uint64_t now)
{
    uint64_t end = job->finished_at ? job->finished_at : now;

    return job->started_at && end > job->started_at ? end - job->started_at : 0;
}

static int by_runtime(const void *a, const void *b)
{
    return by_number(runtime(a, listing_now), runtime(b, listing_now), a, b);
}

static int by_tokens(const void *a, const void *b)
{
    const struct quern_listed_job *one = a, *other = b;

    return by_number(one->tokens, other->tokens, a, b);
}

static int by_cost(const void *a, const void *b)
{
    const struct quern_listed_job *one = a, *other = b;

    return by_number(one->cost, other->cost, a, b);
}

static int by_end(const void *a, const void *b)
{
    const struct quern_listed_job *one = a, *other = b;

    return by_number(one->finished_at, other->finished_at, a, b);
}

static void sort_jobs(struct quern_listed_job *jobs, size_t count,
                      enum quern_sort sort, uint64_t now)
{
    static int (*const orders[])(const void *, const void *) = {
        [QUERN_BY_PLACE] = by_end,       [QUERN_BY_AGE] = by_age,
        [QUERN_BY_RUNTIME] = by_runtime, [QUERN_BY_TOKENS] = by_tokens,
        [QUERN_BY_COST] = by_cost,
    };

    listing_now = now;
    if (count > 1)
        qsort(jobs, count, sizeof(*jobs), orders[sort]);
}

/* Sorts what was found, and keeps only as many as are asked for: memory is
 * bounded however many jobs there are. */
static void keep_first(struct job_search *search)
{
    struct quern_listing *found = search->found;

    sort_jobs(found->items, found->count, search->filter->sort, found->now);
    if (found->count > search->most)
        found->count = (size_t)search->most;
}

/* ------------------------------------------------------------------- rows */

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool is_new(struct job_search *search, struct view id)
{
    char *own = view_dup(id);
    char **node = tsearch(own, &search->ids, compare_ids);

    if (!node)
        abort();
    if (*node == own)
        return true;
    free(own);
    return false;
}

static void add_job(struct job_search *search, const struct job_row *row)
{
    struct quern_listing *found = search->found;
    struct quern_listed_job *job;

    if (row->id.len >= sizeof(job->id) || !is_new(search, row->id))
        return;
    if (search->filter->sort != QUERN_BY_PLACE &&
        found->count >= search->most + 4096)
        keep_first(search);
    found->items = list_grow(found->items, found->count, sizeof(*found->items));
    job = &found->items[found->count++];
    job->state = (enum quern_state)row->state;
    view_copy(job->id, sizeof(job->id), row->id);
    view_copy(job->queue, sizeof(job->queue), row->queue);
    view_copy(job->tenant, sizeof(job->tenant), row->tenant);
    view_copy(job->session, sizeof(job->session), row->session);
    view_copy(job->worker, sizeof(job->worker), row->worker);
    view_copy(job->reason, sizeof(job->reason), row->reason);
    view_copy(job->call, sizeof(job->call), row->call);
    view_copy(job->error_code, sizeof(job->error_code), row->error_code);
    view_copy(job->priority, sizeof(job->priority), row->priority);
    job->submitted_at = row->submitted_at;
    job->started_at = row->started_at;
    job->finished_at = row->finished_at;
    job->attempts = row->attempts;
    job->tokens = row->tokens;
    job->cost = row->cost;
    job->due_at = row->due_at;
}

static bool add_rows(struct job_search *search, const redisReply *reply,
                     size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct job_row row;

        if (!transition_job_row(reply, i, &row, err))
            return false;
        add_job(search, &row);
    }
    return true;
}

/* Whether no further row can matter. begin: where the group's rows, of this
 * partition, begin in what was found. Sorted by anything but place, every job
 * has to be looked at. */
static bool has_enough(const struct job_search *search, size_t begin,
                       bool ended)
{
    uint64_t held = search->found->count;

    if (search->filter->sort != QUERN_BY_PLACE)
        return false;
    /* The latest of all partitions are wanted, and any partition may have them:
     * so many are read of each. */
    return ended ? held - begin >= search->most : held >= search->most;
}

static uint64_t ask_for(const struct job_search *search, size_t begin,
                        bool ended)
{
    uint64_t held = search->found->count - (ended ? begin : 0);

    if (search->filter->sort != QUERN_BY_PLACE ||
        search->most - held > LISTING_MOST_ROWS)
        return LISTING_MOST_ROWS;
    return search->most - held;
}

/* Reads rows of one partition, page by page. The cursor is the library's: it
 * says where the next page begins, and is empty at the end. */
static bool search_partition(struct job_search *search, unsigned int partition,
                             bool ended, struct err *err)
{
    CLEANUP(buf_finish) struct buf cursor;
    size_t begin = search->found->count;

    buf_init(&cursor, 4096);
    while (!has_enough(search, begin, ended)) {
        struct command command;
        CLEANUP(cleanup_reply) redisReply *reply = NULL;
        struct view next;
        size_t rows;

        transition_jobs(&command, &search->quern->fleet->names, partition,
                        buf_view(&cursor), ask_for(search, begin, ended),
                        &search->asked);
        reply = handle_call(search->quern, partition, &command, err);
        command_finish(&command);
        if (!reply || !transition_jobs_listed(reply, &next, &rows, err) ||
            !add_rows(search, reply, rows, err))
            return false;
        if (next.len == 0)
            return true;
        buf_clear(&cursor);
        buf_append(&cursor, next.data, next.len);
    }
    return true;
}

/* ----------------------------------------------------------------- filter */

/* The words of a group that are wanted as well; wanted: words with blanks or
 * commas between, "ended" for the last group; NULL: all. Empty: none. */
static void common_words(const char *group, const char *wanted, struct buf *out)
{
    const char *at = group;

    while (*at) {
        size_t len = strcspn(at, " ");
        bool take = !wanted;

        for (const char *word = wanted; word && *word;) {
            size_t size = strcspn(word, " ,");

            take = take || (size == len && strncmp(word, at, len) == 0) ||
                   (size == 5 && strncmp(word, "ended", 5) == 0 &&
                    group == groups[ENDED]);
            word += size + strspn(word + size, " ,");
        }
        if (take)
            buf_printf(out, "%s%.*s", out->len > 0 ? " " : "", (int)len, at);
        at += len + strspn(at + len, " ");
    }
}

static bool check_states(const char *words, struct err *err)
{
    for (const char *word = words; word && *word;) {
        size_t size = strcspn(word, " ,");
        bool known = size == 5 && strncmp(word, "ended", 5) == 0;

        for (int i = 0; job_state_names[i]; i++)
            known = known || (strlen(job_state_names[i]) == size &&
                              strncmp(word, job_state_names[i], size) == 0);
        if (!known)
            return err_set(err, ERR_REJECT, "bad_field",
                           "state: \"%.*s\" is none of scheduled, queued, "
                           "in_progress, waiting, completed, incomplete, "
                           "failed, cancelled, ended",
                           (int)(size < 64 ? size : 64), word);
        word += size + strspn(word + size, " ,");
    }
    return true;
}

static bool search_group(struct job_search *search, size_t group,
                         unsigned int partitions, struct err *err)
{
    CLEANUP(buf_finish) struct buf states;
    size_t begin = search->found->count;
    bool ended = group == ENDED;

    buf_init(&states, 256);
    common_words(groups[group], search->filter->states, &states);
    if (states.len == 0)
        return true;
    search->asked.states = buf_view(&states);
    for (unsigned int p = 0; p < partitions; p++)
        if (!search_partition(search, p, ended, err))
            return false;
    if (ended && search->filter->sort == QUERN_BY_PLACE && partitions > 1)
        sort_jobs(search->found->items + begin, search->found->count - begin,
                  QUERN_BY_PLACE, search->found->now);
    return true;
}

static bool search_all(struct job_search *search, struct err *err)
{
    const struct quern_filter *filter = search->filter;
    unsigned int partitions;

    if (filter->limit == 0 || filter->skip > UINT64_MAX / 4 ||
        filter->limit > UINT64_MAX / 4)
        return err_set(err, ERR_REJECT, "bad_field", "limit: 1 or more jobs");
    if (!check_states(filter->states, err) ||
        !handle_partitions(search->quern, &partitions, err) ||
        !fleet_now(search->quern, &search->found->now, err))
        return false;
    search->most = filter->skip + filter->limit;
    search->asked = (struct job_filter){
        .queue = view_of(filter->queue),
        .tenant = view_of(filter->tenant),
        .session = view_of(filter->session),
        .worker = view_of(filter->worker),
        .error_code = view_of(filter->error_code),
        .reason = view_of(filter->reason),
        .model = view_of(filter->model),
        .metadata = view_of(filter->metadata),
        .since = filter->since,
        .until = filter->until,
    };
    for (size_t i = 0; i < GROUPS; i++)
        if (!has_enough(search, 0, false) &&
            !search_group(search, i, partitions, err))
            return false;
    return true;
}

/* Skipped rows are read and dropped: the order over all partitions is only
 * known when they are there. */
bool quern_list(struct quern *quern, const struct quern_filter *filter,
                struct quern_listing *listing, struct quern_error *error)
{
    struct job_search search = { .quern = quern,
                                 .filter = filter,
                                 .found = listing };
    struct err err = { 0 };
    bool ok;

    *listing = (struct quern_listing){ 0 };
    ok = search_all(&search, &err);
    tdestroy(search.ids, free);
    if (!ok) {
        free(listing->items);
        *listing = (struct quern_listing){ 0 };
        return handle_fail(error, &err);
    }
    if (filter->sort != QUERN_BY_PLACE)
        keep_first(&search);
    if (listing->count > search.most)
        listing->count = (size_t)search.most;
    if (filter->skip >= listing->count) {
        listing->count = 0;
    } else {
        listing->count -= (size_t)filter->skip;
        memmove(listing->items, listing->items + filter->skip,
                listing->count * sizeof(*listing->items));
    }
    return true;
}

/* ------------------------------------------------------------ old ones go */

static bool tidy_partition(struct quern *quern, unsigned int partition,
                           const struct tidy *tidy, uint64_t *jobs,
                           struct err *err)
{
    char cursor[24] = "0";

    do {
        struct command command;
        CLEANUP(cleanup_reply) redisReply *reply = NULL;
        struct view next;
        uint64_t removed;

        transition_tidy(&command, &quern->fleet->names, partition,
                        view_of(cursor), tidy);
        reply = handle_write(quern, partition, &command, err);
        command_finish(&command);
        if (!reply || !transition_tidied(reply, &next, &removed, err))
            return false;
        *jobs += removed;
        view_copy(cursor, sizeof(cursor), next);
    } while (strcmp(cursor, "0") != 0);
    return true;
}

/* One word, or none; "ended" is any of them. */
static bool listing_check_ended(const char **state, struct err *err)
{
    static const enum job_state ends[] = { STATE_COMPLETED, STATE_INCOMPLETE,
                                           STATE_FAILED, STATE_CANCELLED };
    const char *word = *state ? *state : "ended";

    if (strcmp(word, "ended") == 0) {
        *state = NULL;
        return true;
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(word, job_state_names[ends[i]]) == 0)
            return true;
    return err_set(err, ERR_REJECT, "bad_field",
                   "state: \"%.64s\" is not one of completed, incomplete, "
                   "failed, cancelled, ended",
                   word);
}

static bool tidy_all(struct quern *quern, uint64_t older_ms, const char *state,
                     const char *queue, bool dry, uint64_t *jobs,
                     struct err *err)
{
    if (!listing_check_ended(&state, err))
        return false;
    struct tidy tidy = { .state = view_of(state),
                         .queue = view_of(queue),
                         .dry = dry };
    unsigned int partitions;
    uint64_t now;

    if (!handle_partitions(quern, &partitions, err) ||
        !fleet_now(quern, &now, err))
        return false;
    tidy.before = now > older_ms ? now - older_ms : 0;
    for (unsigned int p = 0; p < partitions; p++)
        if (!tidy_partition(quern, p, &tidy, jobs, err))
            return false;
    return true;
}

bool quern_tidy(struct quern *quern, uint64_t older_ms, const char *state,
                const char *queue, bool dry, uint64_t *jobs,
                struct quern_error *error)
{
    struct err err = { 0 };

    *jobs = 0;
    return tidy_all(quern, older_ms, state, queue, dry, jobs, &err) ||
           handle_fail(error, &err);
}
