/* watch_pages.c - shows what the consumer counts, and whether it is ready. */
#include "consumer/watch_pages.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/numbers.h"
#include "consumer/queue/partition.h"
#include "consumer/trace/tracer.h"
#include "schemas/metrics/listener.h"
#include "schemas/metrics/relay.h"
#include "schemas/redis/reply.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    LAG_MS = 500,            /* between two looks at how late the loop is */
    EXECUTOR_MS = 10 * 1000, /* between two questions to the executor */
    STALE_MS = 30 * 1000,    /* then its numbers are not shown any more */
};

struct watch_pages {
    struct consumer *consumer;
    struct listener *listener;
    struct alarm *lag;
    uint64_t lag_due_ns; /* when that rings */
    struct alarm *asking;
    uint64_t ref;        /* of the question to the executor; 0: none */
    struct buf executor; /* its numbers, checked */
    uint64_t told_ms;    /* when they came, by the loop's clock */
    bool is_refused;     /* they were no numbers; logged once in a row */
};

/* ------------------------------------------------------------------- Redis */

/* By the first word of a command, and by the function of an FCALL. */
static int call_class(const char *word, size_t len)
{
    static const struct {
        const char *word;
        int class;
    } rows[] = {
        { "quern_v1_take", 0 }, { "FCALL", 1 },     { "SET", 1 },
        { "ZADD", 1 },          { "HSET", 1 },      { "HINCRBY", 1 },
        { "PEXPIRE", 1 },       { "GET", 2 },       { "GETRANGE", 2 },
        { "STRLEN", 2 },        { "XREVRANGE", 2 }, { "ZRANGE", 2 },
        { "HGET", 2 },          { "TIME", 2 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (view_is((struct view){ word, len }, rows[i].word))
            return rows[i].class;
    return -1;
}

static int sort_call(const struct command *command)
{
    int class = call_class(command->argv[0], command->argvlen[0]);
    int take = command->argc < 2 || command->argv[0][0] != 'F'
                   ? -1
                   : call_class(command->argv[1], command->argvlen[1]);
    return take == 0 ? 0 : class;
}

static void on_call(int class, uint64_t ns)
{
    static const struct view names[] = { VIEW_INIT("take"), VIEW_INIT("write"),
                                         VIEW_INIT("read") };
    metric_observe(NUMBER_REDIS_CALL, (double)ns / 1e9, LABELS(names[class]));
}

/* A refusal of the library says something of a job, not of Redis; that a group
 * is there already is no error. */
static bool is_of_redis(const char *text)
{
    CLEANUP(cleanup_free) char *copy = view_dup(view_of(text));
    redisReply reply = { .type = REDIS_REPLY_ERROR,
                         .str = copy,
                         .len = strlen(text) };
    struct err err;
    reply_ok(&reply, &err);
    return strncmp(text, "BUSYGROUP ", 10) != 0 &&
           (strncmp(err.code, "redis_", 6) == 0 ||
            strcmp(err.code, "internal") == 0);
}

static void on_redis_error(enum link_trouble trouble, const char *text)
{
    static const char *const starts[][2] = {
        { "READONLY ", "readonly" },
        { "UNBLOCKED ", "readonly" },
        { "OOM ", "oom" },
        { "MISCONF ", "oom" },
        { "LOADING ", "loading" },
        { "NOPERM ", "noperm" },
        { "NOAUTH ", "noperm" },
        { "WRONGPASS ", "noperm" },
        { "ERR The user executing the script", "noperm" },
        { "ERR ACL failure in script", "noperm" },
        { "MOVED ", "moved" },
        { "ERR Function not found", "nofunction" },
    };
    static const char *const troubles[] = { [LINK_REFUSED] = "other",
                                            [LINK_LATE] = "timeout",
                                            [LINK_LOST] = "lost",
                                            [LINK_UNREACHED] = "connect" };
    const char *class = troubles[trouble];
    if (trouble == LINK_REFUSED && !is_of_redis(text))
        return;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (strncmp(text, starts[i][0], strlen(starts[i][0])) == 0)
            class = starts[i][1];
    metric_add(NUMBER_REDIS_ERRORS, 1, LABELS(view_of(class)));
}

static const struct link_observer observer = {
    .sort = sort_call,
    .on_answer = on_call,
    .on_error = on_redis_error,
};

/* ------------------------------------------------------------------ gauges */

static void set_breakers(const struct endpoints *endpoints)
{
    metric_zero(NUMBER_MODEL_BREAKER); /* also of those that are gone */
    for (size_t i = 0; i < endpoints->count; i++)
        metric_set(NUMBER_MODEL_BREAKER,
                   breaker_is_open(&endpoints->items[i]->breaker),
                   LABELS(view_of(endpoints->items[i]->name)));
}

static void set_spans(const struct tracer *tracer)
{
    const struct export_counts counts = tracer_counts(tracer);
    metric_set(NUMBER_SPANS, (double)counts.sent, LABELS(VIEW("sent")));
    metric_set(NUMBER_SPANS, (double)counts.dropped, LABELS(VIEW("dropped")));
    metric_set(NUMBER_SPANS, (double)counts.refused, LABELS(VIEW("refused")));
}

static void set_gauges(const struct consumer *consumer)
{
    metric_set(NUMBER_SLOTS, (double)consumer->running, LABELS(VIEW("busy")));
    metric_set(NUMBER_SLOTS,
               (double)(consumer->settings.slots - consumer->running),
               LABELS(VIEW("free")));
    for (int i = SEVERITY_ERROR; i <= SEVERITY_DEBUG; i++)
        metric_set(NUMBER_LOG_LINES, (double)log_lines((enum log_severity)i),
                   LABELS(view_of(log_severity_names[i])));
    set_breakers(&consumer->endpoints);
    set_spans(consumer->tracer);
}

/* How much later than it was due the loop came to a timer. */
static void on_lag(void *owner)
{
    struct watch_pages *pages = owner;
    uint64_t now = uv_hrtime();
    if (pages->lag_due_ns > 0)
        metric_observe(NUMBER_LOOP_LAG,
                       now > pages->lag_due_ns
                           ? (double)(now - pages->lag_due_ns) / 1e9
                           : 0,
                       NO_LABELS);
    uv_update_time(pages->consumer->loop);
    pages->lag_due_ns = uv_hrtime() + (uint64_t)LAG_MS * 1000000;
    alarm_set(pages->lag, LAG_MS);
}

/* ------------------------------------------------------------ the executor */

static void on_numbers(void *owner, const struct frame *frame)
{
    struct watch_pages *pages = owner;
    struct err err;
    executor_dismiss(pages->consumer->executor, pages->ref);
    pages->ref = 0;
    buf_clear(&pages->executor);
    if (!frame || frame->type != FRAME_NUMBERS)
        return; /* it is gone; or it has nothing for us */
    bool good = relay_check(frame->data, &err);
    if (good) {
        buf_add(&pages->executor, frame->data);
        pages->told_ms = uv_now(pages->consumer->loop);
    } else if (!pages->is_refused) {
        log_line("metrics.refused", "{s:s, s:s}", "of", "executor", "why",
                 err.text);
    }
    pages->is_refused = !good;
}

static void on_asking(void *owner)
{
    struct watch_pages *pages = owner;
    struct executor *executor = pages->consumer->executor;
    struct frame frame = { .type = FRAME_NUMBERS };
    alarm_set(pages->asking, EXECUTOR_MS);
    if (!executor_counts(executor))
        buf_clear(&pages->executor);
    else if (pages->ref == 0)
        pages->ref = executor_ask(executor, &frame, on_numbers, pages);
}

void watch_pages_heed_executor(struct watch_pages *pages)
{
    if (pages)
        on_asking(pages);
}

static bool has_fresh_numbers(const struct watch_pages *pages)
{
    uint64_t now = uv_now(pages->consumer->loop);
    return pages->executor.len > 0 && now - pages->told_ms < STALE_MS;
}

/* ------------------------------------------------------------------- pages */

static void write_metrics(void *owner, struct buf *out)
{
    const struct watch_pages *pages = owner;
    set_gauges(pages->consumer);
    metrics_write(out);
    if (has_fresh_numbers(pages))
        buf_add(out, buf_view(&pages->executor));
}

static bool is_ready(void *owner, struct buf *why)
{
    const struct watch_pages *pages = owner;
    const struct consumer *consumer = pages->consumer;
    const char *path = consumer->settings.executor;
    struct executor_absence absence;
    struct err err = { 0 };
    if (consumer->mode == MODE_DRAINING)
        buf_add(why, VIEW("the consumer drains: it takes no more jobs"));
    else if (consumer->mode == MODE_QUIET)
        buf_add(why, VIEW("the consumer was told by TSTP to take no more "
                          "jobs"));
    else if (!partitions_serve(consumer->partitions, &err))
        buf_add(why, view_of(err.text));
    else if (executor_is_away(consumer->executor, &absence))
        buf_printf(why, "the executor at %s is away: %s", path, absence.text);
    else if (!consumer_claims(consumer))
        buf_printf(why, "the executor at %s has not answered yet", path);
    else
        return true;
    return false;
}

/* -------------------------------------------------------------------- life */

static void learn_queues(const struct consumer *consumer)
{
    size_t count;
    CLEANUP(cleanup_free)
    struct view *queues = consumer_queues(consumer, &count);
    for (size_t i = 0; i < count; i++) {
        metrics_allow("queue", queues[i]);
        /* So that a share of jobs that fail has both its numbers. */
        metric_add(NUMBER_JOBS_FINISHED, 0,
                   LABELS(queues[i], VIEW("completed"), VIEW("none")));
    }
}

void watch_pages_learn(const struct consumer *consumer)
{
    const struct endpoints *endpoints = &consumer->endpoints;
    const struct catalog *catalog = &consumer->toolset->catalog;
    for (size_t i = 0; i < endpoints->count; i++)
        metrics_allow("endpoint", view_of(endpoints->items[i]->name));
    for (size_t i = 0; i < catalog->count; i++)
        metrics_allow("tool", view_of(catalog->items[i]->name));
}

bool watch_pages_open(struct consumer *consumer, struct watch_pages **made,
                      struct err *err)
{
    const char *place = consumer->settings.metrics;
    *made = NULL;
    if (*place == '\0')
        return true;
    struct watch_pages *pages = calloc(1, sizeof(*pages));
    if (!pages)
        abort();
    const struct listener_pages shown = { write_metrics, is_ready, pages };
    pages->consumer = consumer;
    pages->listener = listener_open(consumer->loop, place, &shown, err);
    if (!pages->listener) {
        free(pages);
        return false;
    }
    log_line("metrics", "{s:s, s:I}", "place", place, "port",
             (json_int_t)listener_port(pages->listener));
    metrics_declare(consumer_numbers, CONSUMER_NUMBERS);
    metric_set(NUMBER_BUILD_INFO, 1,
               LABELS(VIEW(QUERN_VERSION), VIEW("consumer")));
    learn_queues(consumer);
    watch_pages_learn(consumer);
    links_observe(&observer);
    buf_init(&pages->executor, RELAY_BYTES);
    pages->lag = alarm_new(consumer->loop, on_lag, pages);
    pages->asking = alarm_new(consumer->loop, on_asking, pages);
    on_lag(pages);
    *made = pages;
    return true;
}

void watch_pages_close(struct watch_pages *pages)
{
    if (!pages)
        return;
    links_observe(NULL);
    executor_dismiss(pages->consumer->executor, pages->ref);
    alarm_free(pages->lag);
    alarm_free(pages->asking);
    buf_finish(&pages->executor);
    listener_close(pages->listener);
    metrics_finish();
    free(pages);
}
