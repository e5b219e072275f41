/* numbers.h - what a consumer counts, for Prometheus: one table of all metrics,
 * by which every part of the consumer counts (schemas/metrics/metrics.h).
 *
 * A part counts in one line, beside the log line or the transition where the
 * thing is decided:
 *
 *   metric_add(NUMBER_JOBS_STARTED, 1, LABELS(queue));
 *
 * watch_pages.c shows the numbers. Without --metrics nothing is counted. A
 * label is one of the words in numbers.c, or the name of a queue, a model
 * endpoint or a tool that the operator has set up: never a word of a job or a
 * model, nor a tenant, a session or a host. */
#ifndef CONSUMER_NUMBERS_H
#define CONSUMER_NUMBERS_H

#include "schemas/metrics/metrics.h"

enum consumer_number {
    NUMBER_BUILD_INFO,
    NUMBER_JOBS_STARTED,
    NUMBER_JOBS_FINISHED,
    NUMBER_JOB_WAIT,
    NUMBER_JOB_DURATION,
    NUMBER_JOBS_HANDED_BACK,
    NUMBER_SLOTS,
    NUMBER_LEASES_LOST,
    NUMBER_WRITES_FENCED,
    NUMBER_JOBS_RECLAIMED,
    NUMBER_LAST_TAKE,
    NUMBER_LOOP_LAG,
    NUMBER_REDIS_CALL,
    NUMBER_REDIS_ERRORS,
    NUMBER_MODEL_REQUESTS,
    NUMBER_MODEL_REQUEST,
    NUMBER_MODEL_FIRST_TOKEN,
    NUMBER_MODEL_TOKENS,
    NUMBER_MODEL_COST,
    NUMBER_MODEL_PAID_TWICE,
    NUMBER_MODEL_RECOVERED,
    NUMBER_MODEL_BREAKER,
    NUMBER_TOOL_CALLS,
    NUMBER_TOOL_TIME,
    NUMBER_SPANS,
    NUMBER_LOG_LINES,
    CONSUMER_NUMBERS,
};
extern const struct metric consumer_numbers[CONSUMER_NUMBERS];

#endif
