/* tracer.c - gives the exporter its clock and its HTTP. */
#include "consumer/trace/tracer.h"

#include <stdlib.h>

#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

struct tracer {
    uv_loop_t *loop;
    struct http *http;
    struct otlp otlp;
    struct span_out out;
    struct exporter exporter;
    struct alarm *alarm;
    struct http_call *call; /* NULL: nothing is on its way */
    struct buf answer;      /* its body, so far */
    uint64_t timeout_ms;
    void (*left)(void *owner);
    void *owner;
};

/* ------------------------------------------------------------------ request */

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    struct tracer *tracer = owner;
    (void)status;
    return buf_add(&tracer->answer, bytes) ? HTTP_PAYLOAD : HTTP_STOP;
}

static void on_done(void *owner, const struct http_response *response)
{
    struct tracer *tracer = owner;
    struct export_answer answer;
    tracer->call = NULL;
    otlp_judge(&tracer->otlp, response, buf_view(&tracer->answer), &answer);
    exporter_answered(&tracer->exporter, &answer);
}

static void post_batch(void *owner, struct view body)
{
    static const struct http_events events = { on_body, on_done };
    struct tracer *tracer = owner;
    const struct http_request request = {
        .url = tracer->otlp.url,
        .headers = (const char *const *)tracer->otlp.headers,
        .body = body,
        .first_byte_ms = tracer->timeout_ms,
        .idle_ms = tracer->timeout_ms,
        .total_ms = tracer->timeout_ms,
        .max_bytes = SIZE_MAX, /* on_body() stops it */
    };
    buf_finish(&tracer->answer);
    buf_init(&tracer->answer, OTLP_ANSWER_BYTES);
    tracer->call = http_start(tracer->http, &request, events, tracer);
}

static void cancel_batch(void *owner)
{
    struct tracer *tracer = owner;
    http_cancel(tracer->call);
    tracer->call = NULL;
}

/* -------------------------------------------------------------- other ports */

static uint64_t tracer_now_ms(void *owner)
{
    const struct tracer *tracer = owner;
    return uv_now(tracer->loop);
}

/* main.c has seeded it. */
static uint32_t chance(void *owner)
{
    (void)owner;
    return (uint32_t)rand();
}

static void on_alarm(void *owner)
{
    struct tracer *tracer = owner;
    exporter_rang(&tracer->exporter);
}

static void set_alarm(void *owner, uint64_t ms)
{
    struct tracer *tracer = owner;
    alarm_set(tracer->alarm, ms);
}

static void log_losses(void *owner, const struct export_counts *since,
                       const char *why)
{
    (void)owner;
    log_line("traces.lost", "{s:I, s:I, s:I, s:s}", "sent",
             (json_int_t)since->sent, "dropped", (json_int_t)since->dropped,
             "refused", (json_int_t)since->refused, "why", why);
}

static void tracer_free(struct tracer *tracer)
{
    alarm_free(tracer->alarm);
    exporter_finish(&tracer->exporter);
    span_out_finish(&tracer->out);
    otlp_finish(&tracer->otlp);
    buf_finish(&tracer->answer);
    free(tracer);
}

static void on_left(void *owner)
{
    struct tracer *tracer = owner;
    void (*left)(void *owner) = tracer->left;
    void *other = tracer->owner;
    tracer_free(tracer);
    left(other);
}

static void add(void *owner, struct view span)
{
    struct tracer *tracer = owner;
    exporter_add(&tracer->exporter, span);
}

/* -------------------------------------------------------------- life cycle */

static void say_on(const struct tracer *tracer,
                   const struct trace_settings *settings)
{
    CLEANUP(buf_finish) struct buf place;
    buf_init(&place, 256);
    otlp_place(&tracer->otlp, &place);
    log_line("traces.on", "{s:s%, s:s, s:b}", "to",
             place.len > 0 ? place.data : "", place.len, "sample",
             settings->share, "content", settings->content);
}

struct tracer *tracer_new(uv_loop_t *loop, struct http *http,
                          const struct trace_settings *settings,
                          const char *instance)
{
    static const struct export_ports ports = {
        tracer_now_ms, chance,     set_alarm, post_batch,
        cancel_batch,  log_losses, on_left,
    };
    struct otlp otlp;
    otlp_init(&otlp, settings, instance);
    if (!otlp.url)
        return NULL;
    struct tracer *tracer = calloc(1, sizeof(*tracer));
    if (!tracer)
        abort();
    tracer->loop = loop;
    tracer->http = http;
    tracer->otlp = otlp;
    tracer->timeout_ms = settings->timeout_ms;
    tracer->alarm = alarm_new(loop, on_alarm, tracer);
    span_out_init(&tracer->out, otlp_share(settings->share));
    tracer->out.add = add;
    tracer->out.owner = tracer;
    tracer->out.content = settings->content;
    exporter_init(&tracer->exporter, &ports, tracer, buf_view(&otlp.head),
                  buf_view(&otlp.tail));
    say_on(tracer, settings);
    return tracer;
}

struct span_out *tracer_out(struct tracer *tracer)
{
    return tracer ? &tracer->out : NULL;
}

struct export_counts tracer_counts(const struct tracer *tracer)
{
    return tracer ? tracer->exporter.counts : (struct export_counts){ 0 };
}

void tracer_leave(struct tracer *tracer, void (*left)(void *owner), void *owner)
{
    if (!tracer) {
        left(owner);
        return;
    }
    tracer->left = left;
    tracer->owner = owner;
    exporter_leave(&tracer->exporter);
}
