/* numbers.c - the gateway's metrics, and a listener for them. */
#include "producer/gateway/numbers.h"

#include <stdlib.h>

#include "producer/gateway/http/http_server.h"
#include "producer/gateway/native/native.h"
#include "producer/gateway/work.h"
#include "producer/numbers/fleet_numbers.h"
#include "schemas/metrics/listener.h"
#include "schemas/metrics/metrics.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

/* The tables of routes, by their names, and what fits none of them. */
static const char *const kinds[] = { "jobs", "operate", "openai", "plugs",
                                     "page", "openapi", "none",   NULL };
static const char *const outcomes[] = {
    "2xx", "3xx", "4xx", "5xx", "gone", NULL
};
static const double seconds[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                  2.5,   5,    10,    30,   60,  300,  0 };

enum { REQUESTS, REQUEST_SECONDS, STREAMS, CONNECTIONS, METRICS };

static const struct metric table[METRICS] = {
    [REQUESTS] = { "http_requests_total",
                   METRIC_COUNTER,
                   "Requests by the outcome of their answer; gone: the client "
                   "left before it.",
                   { { "route", kinds }, { "status", outcomes } },
                   .is_whole = true },
    [REQUEST_SECONDS] = { "http_request_seconds",
                          METRIC_HISTOGRAM,
                          "From a request's head to its answer; of a stream to "
                          "its begin.",
                          { { "route", kinds } },
                          .buckets = seconds,
                          .is_whole = true },
    [STREAMS] = { "http_streams",
                  METRIC_GAUGE,
                  "Answers that come in pieces and have not ended.",
                  { { NULL, NULL } },
                  .buckets = NULL },
    [CONNECTIONS] = { "http_connections",
                      METRIC_GAUGE,
                      "Connections of clients.",
                      { { NULL, NULL } },
                      .buckets = NULL },
};

struct numbers {
    struct gateway *gateway;
    struct listener *listener;
    struct alarm *due; /* the next gathering */
    struct fleet_numbers shown;
    struct fleet_numbers fresh; /* the thread's while is_gathering */
    bool is_gathering;
    bool is_closed;                 /* to be freed when the thread has done */
    uint64_t begun_ms, gathered_ms; /* by the loop's clock; 0: never */
};

/* ---------------------------------------------------------------- the fleet */

static void numbers_free(struct numbers *numbers)
{
    fleet_numbers_finish(&numbers->shown);
    fleet_numbers_finish(&numbers->fresh);
    free(numbers);
}

static void on_thread(void *owner, struct quern *quern)
{
    struct numbers *numbers = owner;

    fleet_numbers_collect(&numbers->fresh, quern, NULL);
}

/* Also without on_thread(), but only when the gateway ends. */
static void on_gathered(void *owner)
{
    struct numbers *numbers = owner;
    struct fleet_numbers before = numbers->shown;

    numbers->is_gathering = false;
    if (numbers->is_closed) {
        numbers_free(numbers);
        return;
    }
    numbers->shown = numbers->fresh;
    numbers->fresh = before;
    numbers->gathered_ms = uv_now(numbers->gateway->loop);
}

/* Asks Redis, unless it is being asked. */
static void numbers_gather(struct numbers *numbers)
{
    const struct work_job job = { on_thread, on_gathered, numbers };

    alarm_set(numbers->due, NUMBERS_EVERY_MS);
    if (numbers->is_gathering)
        return;
    numbers->begun_ms = uv_now(numbers->gateway->loop);
    numbers->fresh.errors = numbers->shown.errors;
    numbers->is_gathering = work_add(numbers->gateway->work, &job, NULL);
    if (!numbers->is_gathering)
        numbers->shown.errors++;
}

static void on_due(void *owner)
{
    numbers_gather(owner);
}

/* Whoever scrapes often is to see what is new: by the next scrape. */
static void gather_soon(struct numbers *numbers)
{
    uint64_t since_ms = uv_now(numbers->gateway->loop) - numbers->begun_ms;

    if (since_ms >= NUMBERS_LEAST_MS && !numbers->gateway->draining)
        numbers_gather(numbers);
}

static void forget_stale(struct numbers *numbers)
{
    uint64_t now_ms = uv_now(numbers->gateway->loop);

    if (now_ms - numbers->gathered_ms > NUMBERS_STALE_MS)
        buf_clear(&numbers->shown.gauges);
}

/* ------------------------------------------------------------------ its own */

static const char *outcome_of(unsigned int status)
{
    switch (status / 100) {
    case 2:
        return "2xx";
    case 3:
        return "3xx";
    case 4:
        return "4xx";
    case 5:
        return "5xx";
    default:
        return "gone";
    }
}

void numbers_count_request(const struct api_request *request,
                           unsigned int status)
{
    struct view kind = view_of(request->kind ? request->kind : "none");
    double took_s = (double)(uv_hrtime() - request->begun_ns) / 1e9;

    metric_add(REQUESTS, 1, LABELS(kind, view_of(outcome_of(status))));
    if (status > 0)
        metric_observe(REQUEST_SECONDS, took_s, LABELS(kind));
}

static void set_gauges(const struct gateway *gateway)
{
    struct http_load load = http_server_load(gateway->server);

    metric_set(STREAMS, (double)load.streams, NO_LABELS);
    metric_set(CONNECTIONS, (double)load.connections, NO_LABELS);
}

static void write_metrics(void *owner, struct buf *out)
{
    struct numbers *numbers = owner;

    metrics_write_head(out, "build_info", METRIC_GAUGE, "1; what it is.");
    metrics_write_sample(
        out, "build_info", 1,
        (const char *[]){ "version", QUERN_VERSION, "role", "gateway", NULL });
    set_gauges(numbers->gateway);
    metrics_write(out);
    forget_stale(numbers);
    fleet_numbers_write(&numbers->shown, out);
    gather_soon(numbers);
}

static bool is_ready(void *owner, struct buf *why)
{
    const struct numbers *numbers = owner;
    struct err err;

    if (health_is_ready(numbers->gateway, &err))
        return true;
    buf_add(why, view_of(err.text));
    return false;
}

/* --------------------------------------------------------------------- life */

bool numbers_open(struct gateway *gateway, struct numbers **made,
                  struct err *err)
{
    const char *place = gateway->settings.metrics;
    struct numbers *numbers;

    *made = NULL;
    if (*place == '\0')
        return true;
    numbers = calloc(1, sizeof(*numbers));
    if (!numbers)
        abort();
    numbers->gateway = gateway;
    fleet_numbers_init(&numbers->shown);
    fleet_numbers_init(&numbers->fresh);
    const struct listener_pages pages = { write_metrics, is_ready, numbers };

    numbers->listener = listener_open(gateway->loop, place, &pages, err);
    if (!numbers->listener) {
        numbers_free(numbers);
        return false;
    }
    metrics_declare(table, METRICS);
    log_line("metrics", "{s:s, s:I}", "place", place, "port",
             (json_int_t)listener_port(numbers->listener));
    numbers->due = alarm_new(gateway->loop, on_due, numbers);
    numbers_gather(numbers);
    *made = numbers;
    return true;
}

void numbers_close(struct numbers *numbers)
{
    if (!numbers)
        return;
    metrics_finish();
    listener_close(numbers->listener);
    alarm_free(numbers->due);
    numbers->is_closed = true;
    if (!numbers->is_gathering)
        numbers_free(numbers);
}
