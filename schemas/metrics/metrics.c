/* metrics.c - counts, and writes the counts as text. */
#include "schemas/metrics/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A configured label has room for all that may be allowed, so that a series
 * keeps its place when more are. */
enum { PLACES_ALLOWED = METRIC_ALLOWED + 1, MOST_LABELS = 8 };

static const struct view other = VIEW_INIT("other");

/* Configured values of a label, of all metrics that have it. */
struct allowed {
    const char *label;
    char *values[METRIC_ALLOWED];
    size_t count;
};

/* What was counted of a metric: for each series, the places of its values in
 * their sets make its number. */
struct counted {
    size_t places;  /* series that there can be */
    size_t buckets; /* of a histogram */
    size_t width;   /* numbers of a series: one; of a histogram the observations
                       of each bucket, those above all of them, and the sum */
    double *numbers; /* of each series; NULL: no series was touched */
    bool *is_touched;
};

static struct {
    const struct metric *table;
    size_t count;
    struct counted *counted;
    struct allowed allowed[MOST_LABELS];
} all;

static struct allowed *find_allowed(const char *label)
{
    for (size_t i = 0; i < MOST_LABELS && all.allowed[i].label; i++)
        if (strcmp(all.allowed[i].label, label) == 0)
            return &all.allowed[i];
    return NULL;
}

/* ------------------------------------------------------------------- places */

static size_t count_words(const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

/* The places of a label's values, with that of "other" behind them. */
static size_t label_places(const struct metric_label *label)
{
    if (!label->name)
        return 1;
    return label->values ? count_words(label->values) + 1 : PLACES_ALLOWED;
}

static size_t label_place(const struct metric_label *label, struct view value)
{
    size_t places = label_places(label);
    if (!label->name)
        return 0;
    const struct allowed *allowed =
        label->values ? NULL : find_allowed(label->name);
    size_t count = label->values ? places - 1 : allowed ? allowed->count : 0;
    for (size_t i = 0; i < count; i++)
        if (view_is(value,
                    label->values ? label->values[i] : allowed->values[i]))
            return i;
    return places - 1;
}

/* NULL: no value has that place, or not yet, or it is that of "other". */
static const char *label_named(const struct metric_label *label, size_t place)
{
    if (label->values)
        return label->values[place];
    const struct allowed *allowed = find_allowed(label->name);
    return allowed && place < allowed->count ? allowed->values[place] : NULL;
}

static struct view label_value(const struct metric_label *label, size_t place)
{
    const char *named = label_named(label, place);
    return named ? view_of(named) : other;
}

static size_t metric_places(const struct metric *metric)
{
    size_t places = 1;
    for (size_t i = 0; i < METRIC_LABELS; i++)
        places *= label_places(&metric->labels[i]);
    return places;
}

static size_t metric_place(const struct metric *metric,
                           const struct metric_labels *labels)
{
    size_t place = 0;
    for (size_t i = 0; i < METRIC_LABELS; i++)
        place = place * label_places(&metric->labels[i]) +
                label_place(&metric->labels[i], labels->values[i]);
    return place;
}

/* The values whose places make the number of a series. */
static void metric_values(const struct metric *metric, size_t place,
                          struct view values[METRIC_LABELS])
{
    for (size_t i = METRIC_LABELS; i-- > 0;) {
        size_t places = label_places(&metric->labels[i]);
        if (metric->labels[i].name)
            values[i] = label_value(&metric->labels[i], place % places);
        place /= places;
    }
}

/* ------------------------------------------------------------------ numbers */

static size_t bucket_count(const struct metric *metric)
{
    size_t count = 0;
    while (metric->buckets && metric->buckets[count] > 0)
        count++;
    return count;
}

static double *touch(size_t id, size_t place)
{
    struct counted *counted = &all.counted[id];
    if (!counted->numbers) {
        counted->numbers =
            calloc(counted->places * counted->width, sizeof(double));
        counted->is_touched = calloc(counted->places, sizeof(bool));
        if (!counted->numbers || !counted->is_touched)
            abort();
    }
    counted->is_touched[place] = true;
    return counted->numbers + place * counted->width;
}

static double *series_of(int id, const struct metric_labels *labels)
{
    if (id < 0 || (size_t)id >= all.count)
        return NULL;
    return touch((size_t)id, metric_place(&all.table[id], labels));
}

void metric_add(int id, double amount, struct metric_labels labels)
{
    double *number = series_of(id, &labels);
    if (number)
        *number += amount;
}

void metric_set(int id, double value, struct metric_labels labels)
{
    double *number = series_of(id, &labels);
    if (number)
        *number = value;
}

void metric_zero(int id)
{
    if (id < 0 || (size_t)id >= all.count || !all.counted[id].numbers)
        return;
    const struct counted *counted = &all.counted[id];
    for (size_t i = 0; i < counted->places * counted->width; i++)
        counted->numbers[i] = 0;
}

void metric_observe(int id, double value, struct metric_labels labels)
{
    double *numbers = series_of(id, &labels);
    if (!numbers)
        return;
    const double *buckets = all.table[id].buckets;
    size_t count = all.counted[id].buckets, i = 0;
    while (i < count && value > buckets[i])
        i++;
    numbers[i]++;
    numbers[count + 1] += value;
}

/* ------------------------------------------------------------------ tables */

/* All combinations of values that are named, without "other". */
static void touch_whole(size_t id)
{
    const struct metric *metric = &all.table[id];
    for (size_t place = 0; place < all.counted[id].places; place++) {
        bool is_named = true;
        size_t rest = place;
        for (size_t i = METRIC_LABELS; i-- > 0 && is_named;) {
            size_t places = label_places(&metric->labels[i]);
            is_named = !metric->labels[i].name ||
                       label_named(&metric->labels[i], rest % places);
            rest /= places;
        }
        if (is_named)
            touch(id, place);
    }
}

static bool is_written_from_start(const struct metric *metric)
{
    return metric->is_whole || !metric->labels[0].name;
}

void metrics_declare(const struct metric *table, size_t count)
{
    metrics_finish();
    all.table = table;
    all.count = count;
    all.counted = calloc(count, sizeof(*all.counted));
    if (!all.counted)
        abort();
    for (size_t id = 0; id < count; id++) {
        size_t buckets = bucket_count(&table[id]);
        all.counted[id] = (struct counted){
            .places = metric_places(&table[id]),
            .buckets = buckets,
            .width = table[id].type == METRIC_HISTOGRAM ? buckets + 2 : 1,
        };
        if (is_written_from_start(&table[id]))
            touch_whole(id);
    }
}

void metrics_finish(void)
{
    for (size_t id = 0; id < all.count; id++) {
        free(all.counted[id].numbers);
        free(all.counted[id].is_touched);
    }
    free(all.counted);
    for (size_t i = 0; i < MOST_LABELS; i++)
        for (size_t j = 0; j < all.allowed[i].count; j++)
            free(all.allowed[i].values[j]);
    memset(&all, 0, sizeof(all));
}

/* The metric has that label, and a series for each value of it from the start.
 */
static bool has_allowed(const struct metric *metric, const char *label)
{
    bool has = false;
    for (size_t i = 0; i < METRIC_LABELS && metric->labels[i].name; i++)
        has = has || (!metric->labels[i].values &&
                      strcmp(metric->labels[i].name, label) == 0);
    return has && metric->is_whole;
}

void metrics_allow(const char *label, struct view value)
{
    struct allowed *allowed = find_allowed(label);
    if (!all.table)
        return;
    for (size_t i = 0; i < MOST_LABELS && !allowed; i++)
        if (!all.allowed[i].label)
            allowed = &all.allowed[i];
    if (!allowed)
        abort(); /* the table has more labels than MOST_LABELS */
    allowed->label = label;
    for (size_t i = 0; i < allowed->count; i++)
        if (view_is(value, allowed->values[i]))
            return;
    if (allowed->count == METRIC_ALLOWED)
        return;
    allowed->values[allowed->count++] = view_dup(value);
    for (size_t id = 0; id < all.count; id++)
        if (has_allowed(&all.table[id], label))
            touch_whole(id);
}

/* A histogram is one series for each bucket, +Inf, the sum and the count. */
static size_t metric_lines(const struct metric *metric)
{
    return metric->type == METRIC_HISTOGRAM ? bucket_count(metric) + 3 : 1;
}

size_t metrics_series(void)
{
    size_t series = 0;
    for (size_t id = 0; id < all.count; id++) {
        const struct counted *counted = &all.counted[id];
        size_t places = counted->numbers ? counted->places : 0;
        for (size_t place = 0; place < places; place++)
            if (counted->is_touched[place])
                series += metric_lines(&all.table[id]);
    }
    return series;
}

size_t metrics_most_series(void)
{
    size_t series = 0;
    for (size_t id = 0; id < all.count; id++)
        series += all.counted[id].places * metric_lines(&all.table[id]);
    return series;
}

bool metrics_has(struct view name)
{
    for (size_t id = 0; id < all.count; id++)
        if (view_is(name, all.table[id].name))
            return true;
    return false;
}

/* -------------------------------------------------------------------- text */

static void write_number(struct buf *out, double value)
{
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        buf_printf(out, "%.0f", value);
    else
        buf_printf(out, "%.15g", value); /* a time in ms has 13 digits */
}

/* A value may hold any UTF-8; what is none is shown as "?". */
static void metric_write_value(struct buf *out, struct view value)
{
    while (value.len > 0) {
        size_t len = view_character(value);
        struct view character = { value.data, len > 0 ? len : 1 };
        if (len == 0)
            buf_add(out, VIEW("?"));
        else if (*value.data == '\n')
            buf_add(out, VIEW("\\n"));
        else if (*value.data == '"' || *value.data == '\\')
            buf_printf(out, "\\%c", *value.data);
        else
            buf_add(out, character);
        value.data += character.len;
        value.len -= character.len;
    }
}

static void write_label(struct buf *out, bool *is_open, const char *name,
                        struct view value)
{
    buf_printf(out, "%s%s=\"", *is_open ? "," : "{", name);
    metric_write_value(out, value);
    buf_add(out, VIEW("\""));
    *is_open = true;
}

/* suffix: of the name; bound: the label "le" of a bucket, or NULL. */
static void metric_write_line(struct buf *out, const struct metric *metric,
                              const struct view *values, const char *suffix,
                              const char *bound, double value)
{
    bool is_open = false;
    buf_printf(out, "quern_%s%s", metric->name, suffix);
    for (size_t i = 0; i < METRIC_LABELS && metric->labels[i].name; i++)
        write_label(out, &is_open, metric->labels[i].name, values[i]);
    if (bound)
        write_label(out, &is_open, "le", view_of(bound));
    buf_add(out, is_open ? VIEW("} ") : VIEW(" "));
    write_number(out, value);
    buf_add(out, VIEW("\n"));
}

static void write_histogram(struct buf *out, const struct metric *metric,
                            const struct view *values, const double *numbers)
{
    size_t count = bucket_count(metric);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        char bound[32];
        snprintf(bound, sizeof(bound), "%.9g", metric->buckets[i]);
        sum += numbers[i];
        metric_write_line(out, metric, values, "_bucket", bound, sum);
    }
    sum += numbers[count];
    metric_write_line(out, metric, values, "_bucket", "+Inf", sum);
    metric_write_line(out, metric, values, "_sum", NULL, numbers[count + 1]);
    metric_write_line(out, metric, values, "_count", NULL, sum);
}

void metrics_write_head(struct buf *out, const char *name,
                        enum metric_type type, const char *help)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    buf_printf(out, "# HELP quern_%s %s\n# TYPE quern_%s %s\n", name, help,
               name, types[type]);
}

void metrics_write_sample(struct buf *out, const char *name, double value,
                          const char *const *labels)
{
    bool is_open = false;
    buf_printf(out, "quern_%s", name);
    for (; labels && *labels; labels += 2)
        write_label(out, &is_open, labels[0], view_of(labels[1]));
    buf_add(out, is_open ? VIEW("} ") : VIEW(" "));
    write_number(out, value);
    buf_add(out, VIEW("\n"));
}

static void write_metric(struct buf *out, size_t id)
{
    const struct metric *metric = &all.table[id];
    const struct counted *counted = &all.counted[id];
    size_t places = counted->numbers ? counted->places : 0;
    metrics_write_head(out, metric->name, metric->type, metric->help);
    for (size_t place = 0; place < places; place++) {
        struct view values[METRIC_LABELS] = { { NULL, 0 } };
        const double *numbers = counted->numbers + place * counted->width;
        if (!counted->is_touched[place])
            continue;
        metric_values(metric, place, values);
        if (metric->type == METRIC_HISTOGRAM)
            write_histogram(out, metric, values, numbers);
        else
            metric_write_line(out, metric, values, "", NULL, *numbers);
    }
}

void metrics_write(struct buf *out)
{
    for (size_t id = 0; id < all.count; id++)
        write_metric(out, id);
}
