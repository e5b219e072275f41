/* numbers.c - the table of what a consumer counts.
 *
 * Names and units: https://prometheus.io/docs/practices/naming/. The table in
 * OPERATING.md is made of this one. */
#include "consumer/numbers.h"

#include "schemas/service/log_event.h"

/* Jobs take from a tenth of a second to an hour; the last bound of models is
 * the time after which nobody waits for a reply. */
static const double of_jobs[] = { 0.1, 0.25, 0.5, 1,   2.5,  5,    10, 30,
                                  60,  120,  300, 600, 1800, 3600, 0 };
static const double of_models[] = { 0.01,  0.02,  0.04,   0.08,   0.16,  0.32,
                                    0.64,  1.28,  2.56,   5.12,   10.24, 20.48,
                                    40.96, 81.92, 163.84, 327.68, 0 };
static const double of_calls[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                   0.025,  0.05,  0.1,    0.25,  0.5,
                                   1,      2.5,   5,      10,    0 };
static const double of_loop[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                  0.1,   0.25,   0.5,   1,    2.5,   0 };

static const char *const version[] = { QUERN_VERSION, NULL };
static const char *const role[] = { "consumer", NULL };
static const char *const outcomes[] = { "completed", "incomplete", "failed",
                                        "cancelled", NULL };
/* Error codes of schemas/MESSAGES.md with which a consumer ends jobs. */
static const char *const reasons[] = { "none",
                                       "aborted",
                                       "bad_blob",
                                       "bad_field",
                                       "bad_message",
                                       "bad_output",
                                       "cell_failed",
                                       "cost_limit",
                                       "deadline_exceeded",
                                       "deadline_mismatch",
                                       "executor_unavailable",
                                       "id_mismatch",
                                       "internal",
                                       "loop",
                                       "lost_body",
                                       "missing_blob",
                                       "missing_field",
                                       "model_context",
                                       "model_cut",
                                       "model_garbage",
                                       "model_refused",
                                       "model_rejected",
                                       "model_too_long",
                                       "model_unavailable",
                                       "no_action",
                                       "no_answer",
                                       "not_approved",
                                       "not_before_mismatch",
                                       "priority_mismatch",
                                       "queue_mismatch",
                                       "session_exists",
                                       "session_failed",
                                       "session_mismatch",
                                       "tenant_budget",
                                       "tenant_mismatch",
                                       "token_limit",
                                       "too_large",
                                       "tool_unavailable",
                                       "turn_limit",
                                       "unknown_file",
                                       "unknown_model",
                                       "unknown_session",
                                       "unknown_tool",
                                       "unsupported_version",
                                       NULL };
static const char *const hand_backs[] = { "drain",    "executor", "session",
                                          "approval", "retry",    "backoff",
                                          "budget",   "endpoint", NULL };
static const char *const slot_states[] = { "busy", "free", NULL };
static const char *const functions[] = {
    "journal", "event",         "spend",        "finish", "release",
    "wait",    "session_claim", "session_save", NULL
};
static const char *const reclaims[] = { "lapsed", "unstarted", "mended", NULL };
static const char *const call_classes[] = { "take", "write", "read", NULL };
static const char *const error_classes[] = {
    "connect", "timeout", "lost",  "readonly",   "oom",
    "loading", "noperm",  "moved", "nofunction", NULL
};
static const char *const request_outcomes[] = { "ok",         "rate_limited",
                                                "overloaded", "timeout",
                                                "cut",        "refused",
                                                "error",      NULL };
static const char *const token_kinds[] = { "input",      "output",
                                           "cache_read", "cache_write",
                                           "estimated",  NULL };
static const char *const call_outcomes[] = { "ok", "error", "refused", NULL };
static const char *const span_outcomes[] = { "sent", "dropped", "refused",
                                             NULL };

/* clang-format off: each row reads as a row. */
#define COUNTER(name, help, ...)                                               \
    {                                                                          \
        name, METRIC_COUNTER, help, { __VA_ARGS__ }, .is_whole = true          \
    }
#define GAUGE(name, help, ...)                                                 \
    {                                                                          \
        name, METRIC_GAUGE, help, { __VA_ARGS__ }, .is_whole = true            \
    }
#define HISTOGRAM(name, help, bounds, ...)                                     \
    {                                                                          \
        name, METRIC_HISTOGRAM, help, { __VA_ARGS__ }, .buckets = (bounds)     \
    }

const struct metric consumer_numbers[CONSUMER_NUMBERS] = {
    [NUMBER_BUILD_INFO] = GAUGE("build_info", "1; what it is.",
                                { "version", version }, { "role", role }),
    [NUMBER_JOBS_STARTED] = COUNTER(
        "jobs_started_total",
        "Jobs that this consumer has begun; one that waits in between is begun "
        "again.",
        { "queue", NULL }),
    [NUMBER_JOBS_FINISHED] = { "jobs_finished_total",
                               METRIC_COUNTER,
                               "Jobs that this consumer has brought to an end, "
                               "by status and error "
                               "code. Redis itself ends those that are "
                               "cancelled or late while they "
                               "wait, and those that lose too many consumers.",
                               { { "queue", NULL },
                                 { "outcome", outcomes },
                                 { "reason", reasons } },
                               .buckets = NULL },
    [NUMBER_JOB_WAIT] = HISTOGRAM(
        "job_wait_seconds",
        "From when a job was due, by its submit or not_before, until it was "
        "begun for the first time.",
        of_jobs, { "queue", NULL }),
    [NUMBER_JOB_DURATION] =
        HISTOGRAM("job_duration_seconds",
                  "From when a job was due, by its submit or not_before, "
                  "until its end: the wait, all attempts, and what is between "
                  "them.",
                  of_jobs, { "queue", NULL }, { "outcome", outcomes }),
    [NUMBER_JOBS_HANDED_BACK] = COUNTER(
        "jobs_handed_back_total",
        "Jobs that went back to their queues before their end: because the "
        "consumer drains, its executor is away, or another job has the "
        "session; "
        "or to wait for an approval, a retry, a budget or an endpoint.",
        { "reason", hand_backs }),
    [NUMBER_SLOTS] =
        GAUGE("slots", "Slots of this consumer.", { "state", slot_states }),
    [NUMBER_LEASES_LOST] = COUNTER("leases_lost_total",
                                   "Jobs that run here, but of which a beat "
                                   "has told that another consumer "
                                   "has them, or that they are over.",
                                   { NULL, NULL }),
    [NUMBER_WRITES_FENCED] = COUNTER(
        "writes_fenced_total",
        "Writes that Redis refused because the job is another consumer's by "
        "now.",
        { "function", functions }),
    [NUMBER_JOBS_RECLAIMED] = COUNTER(
        "jobs_reclaimed_total",
        "Jobs that this consumer has brought back to their queues: their lease "
        "was over; they were read by a consumer and never started; or their "
        "keys did not agree (mended: keys).",
        { "reason", reclaims }),
    [NUMBER_LAST_TAKE] = GAUGE(
        "last_take_timestamp_seconds",
        "When Redis last answered a request for jobs, with or without one; 0: "
        "not yet.",
        { NULL, NULL }),
    [NUMBER_LOOP_LAG] = HISTOGRAM(
        "loop_lag_seconds",
        "How much later than it was due a timer of the event loop ran.",
        of_loop, { NULL, NULL }),
    [NUMBER_REDIS_CALL] = HISTOGRAM(
        "redis_call_seconds",
        "From when a command was queued for Redis until its answer was read. "
        "Commands that wait in Redis are left out.",
        of_calls, { "class", call_classes }),
    [NUMBER_REDIS_ERRORS] = COUNTER(
        "redis_errors_total",
        "Error replies of Redis, refusals of quern's own functions left out; "
        "and connections that could not be made, were lost, or had no answer "
        "in "
        "time.",
        { "class", error_classes }),
    [NUMBER_MODEL_REQUESTS] = COUNTER(
        "model_requests_total",
        "Requests to models that have ended, but for those that were given up.",
        { "endpoint", NULL }, { "outcome", request_outcomes }),
    [NUMBER_MODEL_REQUEST] = HISTOGRAM(
        "model_request_seconds",
        "From a request until the end of its reply; of whole replies.",
        of_models, { "endpoint", NULL }),
    [NUMBER_MODEL_FIRST_TOKEN] = HISTOGRAM(
        "model_first_token_seconds",
        "From a request until the first piece of text, reasoning or a call.",
        of_models, { "endpoint", NULL }),
    [NUMBER_MODEL_TOKENS] = COUNTER(
        "model_tokens_total",
        "Tokens that endpoints have counted. cache_read and cache_write are "
        "part of input; estimated are those that an endpoint did not count.",
        { "endpoint", NULL }, { "kind", token_kinds }),
    [NUMBER_MODEL_COST] =
        COUNTER("model_cost_total",
                "Dollars, as endpoints say or by the prices of --models.",
                { "endpoint", NULL }),
    [NUMBER_MODEL_PAID_TWICE] = COUNTER(
        "model_paid_twice_total",
        "Requests that were made again although the one before may be charged.",
        { "endpoint", NULL }),
    [NUMBER_MODEL_RECOVERED] = COUNTER(
        "model_recovered_total",
        "Replies that were fetched after they had been lost, instead of paid "
        "for again.",
        { "endpoint", NULL }),
    [NUMBER_MODEL_BREAKER] = GAUGE("model_breaker_open",
                                   "1: the endpoint has failed in a row, and "
                                   "is left alone but for a probe "
                                   "now and then.",
                                   { "endpoint", NULL }),
    [NUMBER_TOOL_CALLS] =
        COUNTER("tool_calls_total",
                "Calls of tools, by models and by code; refused: not made. "
                "Python is not among them: see cells_total.",
                { "tool", NULL }, { "outcome", call_outcomes }),
    [NUMBER_TOOL_TIME] = HISTOGRAM(
        "tool_seconds", "How long calls of tools took that were made.", of_jobs,
        { "tool", NULL }),
    [NUMBER_SPANS] = COUNTER(
        "spans_total",
        "Spans of traces that the collector took, that were left out, that it "
        "refused.",
        { "outcome", span_outcomes }),
    [NUMBER_LOG_LINES] = COUNTER("log_lines_total", "Lines of the log.",
                                 { "level", log_severity_names }),
};
/* clang-format on */
