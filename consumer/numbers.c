/* numbers.c - the table of what a consumer counts, and who may read it. */
#include "consumer/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/consumer.h"
#include "consumer/queue/partition.h"
#include "schemas/message/result.h"
#include "schemas/metrics/listener.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum { LAG_MS = 250 }; /* between two looks at how late the loop is */

/* -------------------------------------------------------------------- table */

static const double job_seconds[] = { 0.1, 0.25, 0.5, 1,   2.5,  5,    10, 30,
                                      60,  120,  300, 600, 1800, 3600, 0 };
static const double model_seconds[] = { 0.01,   0.02,  0.04,  0.08,  0.16,
                                        0.32,   0.64,  1.28,  2.56,  5.12,
                                        10.24,  20.48, 40.96, 81.92, 163.84,
                                        327.68, 0 };
static const double cell_seconds[] = { 0.005, 0.02, 0.1, 0.5, 1,   2.5, 5,
                                       10,    30,   60,  120, 300, 0 };
static const double call_seconds[] = { 0.0005, 0.001, 0.0025, 0.005,
                                       0.01,   0.025, 0.05,   0.1,
                                       0.25,   1,     5,      0 };

static const char *const roles[] = { "consumer", NULL };
static const char *const versions[] = { QUERN_VERSION, NULL };
static const char *const slot_states[] = { "busy", "free", NULL };
static const char *const outcomes[] = { "completed", "incomplete", "failed",
                                        "cancelled", NULL };
/* The error codes with which jobs end, steps fail and jobs go back. */
static const char *const reasons[] = { "none",
                                       "bad_message",
                                       "unsupported_version",
                                       "missing_field",
                                       "id_mismatch",
                                       "tenant_mismatch",
                                       "session_mismatch",
                                       "lost_body",
                                       "unknown_model",
                                       "tool_unavailable",
                                       "missing_blob",
                                       "bad_blob",
                                       "unknown_session",
                                       "session_exists",
                                       "unknown_file",
                                       "stale",
                                       "deadline_exceeded",
                                       "crashed",
                                       "not_approved",
                                       "aborted",
                                       "turn_limit",
                                       "token_limit",
                                       "cost_limit",
                                       "loop",
                                       "no_action",
                                       "no_answer",
                                       "bad_output",
                                       "tenant_budget",
                                       "model_unavailable",
                                       "model_context",
                                       "model_rejected",
                                       "model_garbage",
                                       "model_cut",
                                       "model_refused",
                                       "model_too_long",
                                       "executor_unavailable",
                                       "unknown_call",
                                       "session_failed",
                                       "no_interpreter",
                                       "cell_failed",
                                       "redis_unavailable",
                                       "redis_full",
                                       "not_durable",
                                       "unknown_outcome",
                                       "not_saved",
                                       "internal",
                                       "drain",
                                       NULL };
static const char *const reclaims[] = { "lapsed", "swept", "mended", NULL };
static const char *const classes[] = { "take", "write", NULL };
static const char *const errors[] = { "lost", "refused", "not_now", "oom",
                                      NULL };
static const char *const link_states[] = { "up", "down", NULL };
static const char *const replies[] = { "ok",
                                       "model_unavailable",
                                       "model_rejected",
                                       "model_context",
                                       "model_garbage",
                                       "model_cut",
                                       "model_refused",
                                       "model_too_long",
                                       NULL };
static const char *const tokens[] = { "input",       "output",    "cached",
                                      "cache_write", "uncounted", NULL };
static const char *const call_outcomes[] = { "ok", "error", "refused", NULL };
static const char *const cell_outcomes[] = {
    "ok",      "error",       "exit",    "timeout", "memory",
    "crashed", "interrupted", "unknown", NULL
};
static const char *const cell_states[] = { "kept", "rolled_back", "restored",
                                           "lost", NULL };
static const char *const spans[] = { "sent", "dropped", "refused", NULL };

#define LABEL(name)                                                            \
    {                                                                          \
#name, NULL                                                            \
    }

static const struct metric table[NUMBERS] = {
    [BUILD_INFO] = { "build_info",
                     METRIC_GAUGE,
                     "1; which build this is.",
                     { { "version", versions }, { "role", roles } },
                     .is_whole = true },
    [SLOTS] = { "slots",
                METRIC_GAUGE,
                "Jobs that run here, and that could.",
                { { "state", slot_states } },
                .is_whole = true },
    [JOBS_STARTED] = { "jobs_started_total",
                       METRIC_COUNTER,
                       "Attempts that began.",
                       { LABEL(queue) },
                       .buckets = NULL },
    [JOBS_FINISHED] = { "jobs_finished_total",
                        METRIC_COUNTER,
                        "Jobs that ended; reason: the error code.",
                        { LABEL(queue),
                          { "outcome", outcomes },
                          { "reason", reasons } },
                        .buckets = NULL },
    [JOB_WAIT] = { "job_wait_seconds",
                   METRIC_HISTOGRAM,
                   "From when a job was due until it began for the first time.",
                   { LABEL(queue) },
                   .buckets = job_seconds },
    [JOB_DURATION] = { "job_duration_seconds",
                       METRIC_HISTOGRAM,
                       "From the submit to the end of a job.",
                       { LABEL(queue), { "outcome", outcomes } },
                       .buckets = job_seconds },
    [JOBS_HANDED_BACK] = { "jobs_handed_back_total",
                           METRIC_COUNTER,
                           "Jobs that went back to their queue, for another "
                           "consumer; reason: drain, or the error code.",
                           { { "reason", reasons } },
                           .buckets = NULL },
    [STEPS_RETRIED] = { "steps_retried_total",
                        METRIC_COUNTER,
                        "Steps that failed and were tried again; reason: the "
                        "error code.",
                        { { "reason", reasons } },
                        .buckets = NULL },
    [LEASES_LOST] = { "leases_lost_total",
                      METRIC_COUNTER,
                      "Jobs that another consumer has, as this one was too "
                      "slow.",
                      { { NULL, NULL } },
                      .buckets = NULL },
    [WRITES_FENCED] = { "writes_fenced_total",
                        METRIC_COUNTER,
                        "Writes that Redis refused, as another consumer has "
                        "the job.",
                        { { NULL, NULL } },
                        .buckets = NULL },
    [JOBS_RECLAIMED] = { "jobs_reclaimed_total",
                         METRIC_COUNTER,
                         "Jobs of consumers that have gone, and keys of jobs "
                         "that were cut off, which were put right.",
                         { { "reason", reclaims } },
                         .is_whole = true },
    [LAST_TAKE] = { "last_take_timestamp_seconds",
                    METRIC_GAUGE,
                    "When Redis has last answered a take of jobs, also of "
                    "none.",
                    { { NULL, NULL } },
                    .buckets = NULL },
    [LOOP_LAG] = { "loop_lag_seconds",
                   METRIC_HISTOGRAM,
                   "How late a timer of the event loop is.",
                   { { NULL, NULL } },
                   .buckets = call_seconds },
    [REDIS_CALLS] = { "redis_call_seconds",
                      METRIC_HISTOGRAM,
                      "From when a call is sent to Redis to its answer.",
                      { { "class", classes } },
                      .buckets = call_seconds },
    [REDIS_ERRORS] = { "redis_errors_total",
                       METRIC_COUNTER,
                       "Connections that were lost, calls that Redis refused, "
                       "or could not carry out just then.",
                       { { "class", errors } },
                       .is_whole = true },
    [REDIS_LINKS] = { "redis_connections",
                      METRIC_GAUGE,
                      "Whether Redis can be reached for all partitions: up or "
                      "down is 1.",
                      { { "state", link_states } },
                      .is_whole = true },
    [MODEL_REQUESTS] = { "model_requests_total",
                         METRIC_COUNTER,
                         "Requests that ended; outcome: ok, or the error code.",
                         { LABEL(endpoint), { "outcome", replies } },
                         .buckets = NULL },
    [MODEL_SECONDS] = { "model_request_seconds",
                        METRIC_HISTOGRAM,
                        "How long requests took.",
                        { LABEL(endpoint) },
                        .buckets = model_seconds },
    [MODEL_FIRST_TOKEN] = { "model_first_token_seconds",
                            METRIC_HISTOGRAM,
                            "From the request to the first text of its reply.",
                            { LABEL(endpoint) },
                            .buckets = model_seconds },
    [MODEL_TOKENS] = { "model_tokens_total",
                       METRIC_COUNTER,
                       "Tokens as endpoints count them; cached and "
                       "cache_write are parts of input; uncounted: estimated, "
                       "where an endpoint has not said.",
                       { LABEL(endpoint), { "kind", tokens } },
                       .buckets = NULL },
    [MODEL_COST] = { "model_cost_total",
                     METRIC_COUNTER,
                     "Dollars that replies have cost, by the endpoint or its "
                     "price.",
                     { LABEL(endpoint) },
                     .buckets = NULL },
    [MODEL_PAID_TWICE] = { "model_paid_twice_total",
                           METRIC_COUNTER,
                           "Requests that were made again though the one "
                           "before may have been charged.",
                           { LABEL(endpoint) },
                           .buckets = NULL },
    [MODEL_RECOVERED] = { "model_recovered_total",
                          METRIC_COUNTER,
                          "Replies that were fetched instead of paid again.",
                          { LABEL(endpoint) },
                          .buckets = NULL },
    [MODEL_BREAKER_OPEN] = { "model_breaker_open",
                             METRIC_GAUGE,
                             "Whether the endpoint is left alone after "
                             "failures: 1.",
                             { LABEL(endpoint) },
                             .buckets = NULL },
    [TOOL_CALLS] = { "tool_calls_total",
                     METRIC_COUNTER,
                     "Calls of tools, Python not among them; a name that is "
                     "not configured is other.",
                     { LABEL(tool), { "outcome", call_outcomes } },
                     .buckets = NULL },
    [TOOL_SECONDS] = { "tool_seconds",
                       METRIC_HISTOGRAM,
                       "How long calls of tools took.",
                       { LABEL(tool) },
                       .buckets = cell_seconds },
    [CELLS] = { "cells_total",
                METRIC_COUNTER,
                "Cells that ended.",
                { { "outcome", cell_outcomes } },
                .is_whole = true },
    [CELL_SECONDS] = { "cell_seconds",
                       METRIC_HISTOGRAM,
                       "How long cells took, with what they waited for.",
                       { { NULL, NULL } },
                       .buckets = cell_seconds },
    [CELL_STATES] = { "cell_states_total",
                      METRIC_COUNTER,
                      "What became of the session's variables in cells that "
                      "ended.",
                      { { "state", cell_states } },
                      .is_whole = true },
    [SESSION_START] = { "session_start_seconds",
                        METRIC_HISTOGRAM,
                        "From when a new session is asked for until it is "
                        "there, without what is put back into it.",
                        { { NULL, NULL } },
                        .buckets = cell_seconds },
    [EXECUTOR_UP] = { "executor_up",
                      METRIC_GAUGE,
                      "Whether the executor of this host answers: 1.",
                      { { NULL, NULL } },
                      .buckets = NULL },
    [EXECUTOR_WALLS_MISSING] = { "executor_walls_missing",
                                 METRIC_GAUGE,
                                 "Walls that the boxes of this host lack: see "
                                 "quern doctor.",
                                 { { NULL, NULL } },
                                 .buckets = NULL },
    [SPANS] = { "spans_total",
                METRIC_COUNTER,
                "Spans of traces that the collector took, that were left out, "
                "that it refused.",
                { { "outcome", spans } },
                .is_whole = true },
    [LOG_LINES] = { "log_lines_total",
                    METRIC_COUNTER,
                    "Lines of the log.",
                    { { "level", log_severity_names } },
                    .is_whole = true },
};

/* ------------------------------------------------------------------ numbers */

struct consumer_numbers {
    struct consumer *consumer;
    struct listener *listener;
    struct alarm *look; /* how late it rings is the lag of the loop */
    uint64_t due_ns;
};

static void on_look(void *owner)
{
    struct consumer_numbers *numbers = owner;
    uint64_t now_ns = uv_hrtime();
    double late =
        now_ns > numbers->due_ns ? (double)(now_ns - numbers->due_ns) / 1e9 : 0;
    metric_observe(LOOP_LAG, late, NO_LABELS);
    numbers->due_ns = now_ns + (uint64_t)LAG_MS * 1000000;
    alarm_set(numbers->look, LAG_MS);
}

void numbers_configured(const struct consumer_numbers *numbers)
{
    if (!numbers)
        return;
    const struct endpoints *endpoints = &numbers->consumer->endpoints;
    for (size_t i = 0; i < endpoints->count; i++)
        metrics_allow("endpoint", view_of(endpoints->items[i]->name));
    const struct toolset *toolset = numbers->consumer->toolset;
    for (size_t i = 0; i < toolset->catalog.count; i++)
        metrics_allow("tool", view_of(toolset->catalog.items[i]->name));
}

/* Of what is, rather than of what has happened. */
static void look_around(const struct consumer *consumer)
{
    struct executor_absence absence;
    bool is_up = partitions_are_ready(consumer->partitions);
    metric_set(BUILD_INFO, 1, LABELS(VIEW(QUERN_VERSION), VIEW("consumer")));
    metric_set(SLOTS, (double)consumer->running, LABELS(VIEW("busy")));
    metric_set(SLOTS, (double)(consumer->settings.slots - consumer->running),
               LABELS(VIEW("free")));
    metric_set(REDIS_LINKS, is_up, LABELS(VIEW("up")));
    metric_set(REDIS_LINKS, !is_up, LABELS(VIEW("down")));
    metric_set(EXECUTOR_UP, !executor_is_away(consumer->executor, &absence),
               NO_LABELS);
    metric_set(EXECUTOR_WALLS_MISSING,
               (double)executor_lacks(consumer->executor), NO_LABELS);
    for (size_t i = 0; i < consumer->endpoints.count; i++) {
        const struct model_endpoint *endpoint = consumer->endpoints.items[i];
        metric_set(MODEL_BREAKER_OPEN, breaker_is_open(&endpoint->breaker),
                   LABELS(view_of(endpoint->name)));
    }
    for (int i = SEVERITY_ERROR; i <= SEVERITY_DEBUG; i++)
        metric_set(LOG_LINES, (double)log_lines((enum log_severity)i),
                   LABELS(view_of(log_severity_names[i])));
}

static void write_metrics(void *owner, struct buf *out)
{
    const struct consumer_numbers *numbers = owner;
    look_around(numbers->consumer);
    metrics_write(out);
}

static bool is_ready(void *owner, struct buf *why)
{
    const struct consumer *consumer =
        ((struct consumer_numbers *)owner)->consumer;
    struct executor_absence absence;
    if (consumer->mode != MODE_SERVING)
        return buf_add(why,
                       VIEW("the consumer takes no more jobs: it drains")) &&
               false;
    if (!partitions_are_ready(consumer->partitions))
        return buf_add(why, VIEW("Redis cannot be reached")) && false;
    if (executor_is_away(consumer->executor, &absence)) {
        buf_printf(why, "the executor is away: %s", absence.text);
        return false;
    }
    return true;
}

bool numbers_open(struct consumer_numbers **numbers, struct consumer *consumer,
                  struct err *err)
{
    const struct listener_pages pages = { .write_metrics = write_metrics,
                                          .is_ready = is_ready };
    *numbers = NULL;
    if (*consumer->settings.metrics == '\0')
        return true;
    struct consumer_numbers *made = calloc(1, sizeof(*made));
    if (!made)
        abort();
    struct listener_pages own = pages;
    own.owner = made;
    made->consumer = consumer;
    made->listener =
        listener_open(consumer->loop, consumer->settings.metrics, &own, err);
    if (!made->listener) {
        free(made);
        return false;
    }
    log_line("metrics", "{s:s, s:I}", "place", consumer->settings.metrics,
             "port", (json_int_t)listener_port(made->listener));
    metrics_declare(table, NUMBERS);
    size_t count;
    struct view *queues = consumer_queues(consumer, &count);
    for (size_t i = 0; i < count; i++)
        metrics_allow("queue", queues[i]);
    free(queues);
    made->look = alarm_new(consumer->loop, on_look, made);
    made->due_ns = uv_hrtime() + (uint64_t)LAG_MS * 1000000;
    alarm_set(made->look, LAG_MS);
    *numbers = made;
    numbers_configured(made);
    return true;
}

void numbers_close(struct consumer_numbers *numbers)
{
    if (!numbers)
        return;
    listener_close(numbers->listener);
    alarm_free(numbers->look);
    metrics_finish();
    free(numbers);
}
