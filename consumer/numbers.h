/* numbers.h - what a consumer counts, for those who run fleets.
 *
 * The table in numbers.c says what each is called and what it means. Files of
 * all rooms of the consumer count, each where it is decided; nothing here looks
 * into them. Labels are closed sets, or what operators have configured
 * (schemas/metrics/metrics.h). */
#ifndef CONSUMER_NUMBERS_H
#define CONSUMER_NUMBERS_H

#include "schemas/message/err.h"
#include "schemas/metrics/metrics.h"

enum number {
    BUILD_INFO,
    SLOTS,
    JOBS_STARTED,
    JOBS_FINISHED,
    JOB_WAIT,
    JOB_DURATION,
    JOBS_HANDED_BACK,
    STEPS_RETRIED,
    LEASES_LOST,
    WRITES_FENCED,
    JOBS_RECLAIMED,
    LAST_TAKE,
    LOOP_LAG,
    REDIS_CALLS,
    REDIS_ERRORS,
    REDIS_LINKS,
    MODEL_REQUESTS,
    MODEL_SECONDS,
    MODEL_FIRST_TOKEN,
    MODEL_TOKENS,
    MODEL_COST,
    MODEL_PAID_TWICE,
    MODEL_RECOVERED,
    MODEL_BREAKER_OPEN,
    TOOL_CALLS,
    TOOL_SECONDS,
    CELLS,
    CELL_SECONDS,
    CELL_STATES,
    SESSION_START,
    EXECUTOR_UP,
    EXECUTOR_WALLS_MISSING,
    SPANS,
    LOG_LINES,
    NUMBERS,
};

struct consumer;
struct consumer_numbers;

/* Opens the place of --metrics, if there is one, and begins to count. Error:
 * cannot_listen. *numbers: NULL where nobody asks: then nothing is counted. */
bool numbers_open(struct consumer_numbers **numbers, struct consumer *consumer,
                  struct err *err);
/* Endpoints and tools are configured anew. Accepts NULL. */
void numbers_configured(const struct consumer_numbers *numbers);
void numbers_close(struct consumer_numbers *numbers); /* accepts NULL */

#endif
