/* metrics.h - the numbers of a process, as Prometheus reads them.
 *
 * A program declares its metrics in one table, and counts from anywhere, as it
 * logs from anywhere:
 *
 *   enum { JOBS_STARTED, JOB_WAIT };
 *   static const struct metric table[] = {
 *       [JOBS_STARTED] = { "jobs_started_total", METRIC_COUNTER,
 *                          "Jobs that began.", { { "queue", NULL } } },
 *       [JOB_WAIT] = { "job_wait_seconds", METRIC_HISTOGRAM,
 *                      "From when a job was due until it began.",
 *                      { { "queue", NULL } }, .buckets = job_buckets } };
 *
 *   metrics_declare(table, 2);
 *   metrics_allow("queue", VIEW("default"));
 *   metric_add(JOBS_STARTED, 1, LABELS(queue));
 *
 * A label has a closed set of values: those of the table, or those that an
 * operator has configured, of which metrics_allow() tells. Whatever is not in
 * the set counts as "other". So the number of series has a bound that no job
 * and no model can raise: never make a label of their words, nor of hosts.
 *
 * A series is written once it has been touched. That of a metric without a
 * label is written from the start, as 0; so are all of a metric that .is_whole,
 * and those of a configured value from when it is allowed: a rate over what was
 * never seen at 0 misses the first one.
 *
 * Before metrics_declare() nothing is counted, at no cost. One thread.
 *
 * Format: https://prometheus.io/docs/instrumenting/exposition_formats/, text
 * 0.0.4. Names: https://prometheus.io/docs/practices/naming/. */
#ifndef SCHEMAS_METRICS_METRICS_H
#define SCHEMAS_METRICS_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/message/buf.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

enum {
    METRIC_LABELS = 3,  /* of a metric, at most */
    METRIC_ALLOWED = 64 /* configured values of a label; more are "other" */
};

struct metric_label {
    const char *name;
    const char *const *values; /* end in NULL; NULL: what was allowed */
};

struct metric {
    const char *name; /* without "quern_" */
    enum metric_type type;
    const char *help; /* a sentence */
    struct metric_label labels[METRIC_LABELS];
    const double *buckets; /* upper bounds, ascending; end in 0 */
    bool is_whole;         /* all series are written from the start */
};

/* Borrows the table. Forgets what was counted before. */
void metrics_declare(const struct metric *table, size_t count);
void metrics_finish(void);
/* The value is one of that label from now on, in all metrics that have it
 * without values of their own. The label is borrowed, the value copied. Before
 * metrics_declare() it does nothing. */
void metrics_allow(const char *label, struct view value);

/* Values of the labels, in the order of the table. */
struct metric_labels {
    struct view values[METRIC_LABELS];
};
#define LABELS(...) ((struct metric_labels){ { __VA_ARGS__ } })
#define NO_LABELS ((struct metric_labels){ { { NULL, 0 } } })

void metric_add(int id, double amount, struct metric_labels labels);
void metric_set(int id, double value, struct metric_labels labels);
/* All series that there are: before a gauge is set anew of which some may have
 * gone. */
void metric_zero(int id);
/* value: in the unit of the metric's name, which is seconds. */
void metric_observe(int id, double value, struct metric_labels labels);

/* Series that there are now, and that there can be at most. */
size_t metrics_series(void);
size_t metrics_most_series(void);

/* The table has a metric of that name, without "quern_". */
bool metrics_has(struct view name);

/* Appends all of them. */
void metrics_write(struct buf *out);

/* For metrics that others have: a family's HELP and TYPE, and one sample.
 * labels: {name, value} in turn, ends in NULL. */
void metrics_write_head(struct buf *out, const char *name,
                        enum metric_type type, const char *help);
void metrics_write_sample(struct buf *out, const char *name, double value,
                          const char *const *labels);

#endif
