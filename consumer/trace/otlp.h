/* otlp.h - what OTLP over HTTP in JSON asks of us, and what a collector
 * answers.
 *
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp, and for the settings
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/. No parts here
 * wait for anything: tracer.c sends. */
#ifndef CONSUMER_TRACE_OTLP_H
#define CONSUMER_TRACE_OTLP_H

#include "consumer/settings.h"
#include "consumer/trace/exporter.h"
#include "schemas/http/http.h"

enum {
    OTLP_MAX_HEADERS = 32,
    OTLP_MAX_ATTRIBUTES = 64,     /* of the resource */
    OTLP_ANSWER_BYTES = 64 << 10, /* of an answer, that are looked at */
};

/* Where spans go, and what each body of them says of this process. */
struct otlp {
    char *url; /* NULL: no collector is set, traces are off */
    char *headers[OTLP_MAX_HEADERS + 3]; /* "Name: value", NULL ends */
    size_t header_count, secret_count;   /* the operator's come first */
    struct buf head, tail;               /* of a body, around its spans */
};

/* Of settings that were checked. instance: the name of this consumer. */
void otlp_init(struct otlp *otlp, const struct trace_settings *settings,
               const char *instance);
void otlp_finish(struct otlp *otlp); /* accepts a zeroed one */

/* The URL without what may be secret in it: user, password, query. */
void otlp_place(const struct otlp *otlp, struct buf *out);

/* What came of a batch. body: of the answer, as much as was kept of it; the
 * bytes of a stranger. Sentences of the collector are starred out where they
 * repeat the value of a header. */
void otlp_judge(const struct otlp *otlp, const struct http_response *response,
                struct view body, struct export_answer *answer);

/* ------------------------------------------------ checks of the settings */

bool otlp_check_url(const char *text, struct err *err);
bool otlp_check_headers(const char *text, struct err *err); /* says no value */
bool otlp_check_share(const char *text, struct err *err);
bool otlp_check_attributes(const char *text, struct err *err);
/* 0 to 1, of a text that was checked; empty: 1. */
double otlp_share(const char *text);

#endif
