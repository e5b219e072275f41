/* figures.c - quern_figures(): what a queue did in each minute of the last
 * week. Redis keeps a hash for each period of some minutes, with a field for
 * each count of each minute. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/redis/listing.h"

enum { MINUTE_MS = 60000, WEEK_MINUTES = 7 * 24 * 60 };

/* The same as in schemas/redis/library/index.lua, which counts. */
static const uint64_t bounds_ms[QUERN_BUCKETS] = {
    10,    30,     100,    300,     1000,    3000,       10000,
    30000, 100000, 300000, 1000000, 3000000, UINT64_MAX,
};

uint64_t quern_bucket_ms(size_t bucket)
{
    return bucket < QUERN_BUCKETS ? bounds_ms[bucket] : UINT64_MAX;
}

static struct quern_minute *find_minute(struct quern_minutes *minutes,
                                        uint64_t at)
{
    for (size_t i = minutes->count; i > 0; i--)
        if (minutes->items[i - 1].at == at)
            return &minutes->items[i - 1];
    minutes->items =
        list_grow(minutes->items, minutes->count, sizeof(*minutes->items));
    minutes->items[minutes->count].at = at;
    return &minutes->items[minutes->count++];
}

static void add_figure(struct quern_minute *minute, char what, size_t bucket,
                       uint64_t count)
{
    const struct {
        char letter;
        uint64_t *sum;
    } rows[] = {
        { 's', &minute->started },    { 'c', &minute->completed },
        { 'i', &minute->incomplete }, { 'f', &minute->failed },
        { 'x', &minute->cancelled },  { 't', &minute->tokens },
        { 'm', &minute->cost },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].letter == what)
            *rows[i].sum += count;
    if (what == 'w' && bucket < QUERN_BUCKETS)
        minute->waits[bucket] += count;
    if (what == 'r' && bucket < QUERN_BUCKETS)
        minute->runs[bucket] += count;
}

static void add_period(struct quern_minutes *minutes, uint64_t begin,
                       uint64_t since, const redisReply *fields)
{
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        unsigned int minute;
        size_t bucket;
        char what;
        uint64_t at;

        if (!figure_read(reply_view(fields->element[i]), &minute, &what,
                         &bucket))
            continue;
        at = begin + (uint64_t)minute * MINUTE_MS;
        if (at + MINUTE_MS > since)
            add_figure(find_minute(minutes, at), what, bucket,
                       reply_number(fields->element[i + 1]));
    }
}

/* The periods of one call. */
struct period_span {
    uint64_t first; /* number of the period, counted from 1970 */
    size_t count;
    uint64_t since; /* ms since 1970; minutes that end before it are left out */
};

static bool read_periods(struct quern *quern, unsigned int partition,
                         const char *queue, struct period_span span,
                         struct quern_minutes *minutes, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_figures(&command, &quern->fleet->names, partition,
                       view_of(queue), span.first, span.count);
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    for (size_t i = 0; reply && i < reply->elements; i++)
        add_period(minutes, (span.first + i) * LISTING_PERIOD_MS, span.since,
                   reply->element[i]);
    return reply;
}

static bool figures_read_partition(struct quern *quern, unsigned int partition,
                                   const char *queue, uint64_t since,
                                   uint64_t now, struct quern_minutes *minutes,
                                   struct err *err)
{
    uint64_t last = now / LISTING_PERIOD_MS;
    struct period_span span = { since / LISTING_PERIOD_MS, LISTING_MOST_PERIODS,
                                since };

    for (; span.first <= last; span.first += LISTING_MOST_PERIODS) {
        uint64_t left = last - span.first + 1;

        if (left < LISTING_MOST_PERIODS)
            span.count = (size_t)left;
        if (!read_periods(quern, partition, queue, span, minutes, err))
            return false;
    }
    return true;
}

static int figures_by_time(const void *a, const void *b)
{
    const struct quern_minute *one = a, *other = b;

    return one->at < other->at ? -1 : one->at > other->at;
}

static bool figures_read_all(struct quern *quern, const char *queue,
                             uint64_t since, struct quern_minutes *minutes,
                             struct err *err)
{
    unsigned int partitions;
    uint64_t now, oldest;

    if (!check_name("queue", view_of(queue), err) ||
        !handle_partitions(quern, &partitions, err) ||
        !fleet_now(quern, &now, err))
        return false;
    oldest = now - (uint64_t)WEEK_MINUTES * MINUTE_MS;
    if (since < oldest || since > now)
        since = since > now ? now : oldest;
    for (unsigned int p = 0; p < partitions; p++)
        if (!figures_read_partition(quern, p, queue, since, now, minutes, err))
            return false;
    if (minutes->count > 1)
        qsort(minutes->items, minutes->count, sizeof(*minutes->items),
              figures_by_time);
    return true;
}

bool quern_figures(struct quern *quern, const char *queue, uint64_t since,
                   struct quern_minutes *minutes, struct quern_error *error)
{
    struct err err = { 0 };

    *minutes = (struct quern_minutes){ 0 };
    if (figures_read_all(quern, queue, since, minutes, &err))
        return true;
    free(minutes->items);
    *minutes = (struct quern_minutes){ 0 };
    return handle_fail(error, &err);
}
