/* span.c - spans as OTLP's JSON: ids in hexadecimal, times as decimal texts,
 * enums as numbers. https://opentelemetry.io/docs/specs/otlp/ */
#include "consumer/trace/span.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <uv.h>

#include "schemas/message/id.h"

enum {
    /* Bits of a span's and a link's flags, beside the eight of a traceparent:
     * whether the other side is another process is known, and is so. */
    FLAG_SAMPLED = 0x001,
    FLAG_REMOTE_KNOWN = 0x100,
    FLAG_REMOTE = 0x200,
    STATUS_ERROR = 2,
    /* Of a trace id, the digits that are random in any version of it. */
    RANDOM_AT = 18,
};

/* ------------------------------------------------------------------ writing */

static void put_hex(struct buf *out, uint64_t number)
{
    static const char digits[] = "0123456789abcdef";
    char text[TRACE_PARENT_LEN];
    for (size_t i = sizeof(text); i-- > 0; number >>= 4)
        text[i] = digits[number & 15];
    buf_append(out, text, sizeof(text));
}

static void put_decimal(struct buf *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    buf_append(out, digits + at, sizeof(digits) - at);
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f && c != '"' &&
           c != '\\';
}

/* What is not UTF-8 becomes U+FFFD: a collector would refuse the whole batch.
 */
static void put_odd(struct buf *out, struct view *text)
{
    size_t len = view_character(*text);
    unsigned char c = (unsigned char)*text->data;
    if (len > 1)
        buf_append(out, text->data, len);
    else if (len == 0)
        buf_add(out, VIEW("\xef\xbf\xbd"));
    else if (c == '"' || c == '\\')
        buf_append(out, (char[]){ '\\', (char)c }, 2);
    else
        buf_printf(out, "\\u%04x", c);
    len = len == 0 ? 1 : len;
    text->data += len;
    text->len -= len;
}

static void put_string(struct buf *out, struct view text)
{
    while (text.len > 0) {
        size_t plain = 0;
        while (plain < text.len && is_plain(text.data[plain]))
            plain++;
        buf_append(out, text.data, plain);
        text.data += plain;
        text.len -= plain;
        if (text.len > 0)
            put_odd(out, &text);
    }
}

/* --------------------------------------------------------------------- ids */

static uint64_t new_id(struct span_out *out)
{
    uint64_t id = 0;
    while (id == 0) {
        if (out->ids_left == 0) {
            if (getrandom(out->ids, sizeof(out->ids), 0) !=
                (ssize_t)sizeof(out->ids))
                abort(); /* so few bytes are never cut short */
            out->ids_left = sizeof(out->ids) / sizeof(out->ids[0]);
        }
        id = out->ids[--out->ids_left];
    }
    return id;
}

static uint64_t read_hex(const char *text, size_t len)
{
    uint64_t number = 0;
    for (size_t i = 0; i < len; i++)
        number = number << 4 | (uint64_t)byte_hex(text[i]);
    return number;
}

void span_out_init(struct span_out *out, double share)
{
    *out = (struct span_out){ .threshold =
                                  (uint64_t)(share * (double)SPAN_SAMPLES) };
    buf_init(&out->text, SPAN_BYTES);
}

void span_out_finish(struct span_out *out)
{
    buf_finish(&out->text);
}

static uint64_t time_of_day_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void job_trace_init(struct job_trace *trace, struct span_out *out,
                    struct view job_id)
{
    size_t len = 0;
    *trace = (struct job_trace){ 0 };
    if (!out || !id_parse(job_id, NULL))
        return;
    for (size_t i = 0; i < job_id.len; i++)
        if (job_id.data[i] != '-')
            trace->id[len++] = job_id.data[i];
    trace->out = out;
    trace->written = read_hex(trace->id + RANDOM_AT, TRACE_ID_LEN - RANDOM_AT) <
                     out->threshold;
    trace->since_1970_ns = time_of_day_ns() - uv_hrtime();
}

bool job_trace_has_content(const struct job_trace *trace)
{
    return trace->written && trace->out->content;
}

/* ------------------------------------------------------------------- spans */

void span_begin(const struct job_trace *trace, struct span *span,
                uint64_t parent)
{
    if (!trace->out)
        return;
    *span = (struct span){ .id = new_id(trace->out),
                           .parent = parent,
                           .began_ns = uv_hrtime() };
}

struct view span_header(const struct job_trace *trace, const struct span *span,
                        char text[SPAN_PARENT_BYTES])
{
    *text = '\0';
    if (trace->out && span->id != 0)
        snprintf(text, SPAN_PARENT_BYTES, "00-%s-%016llx-%02x", trace->id,
                 (unsigned long long)span->id, trace->written);
    return view_of(text);
}

struct view span_digits(const struct job_trace *trace, const struct span *span,
                        char text[TRACE_PARENT_LEN + 1])
{
    *text = '\0';
    if (trace->written && span->id != 0)
        snprintf(text, TRACE_PARENT_LEN + 1, "%016llx",
                 (unsigned long long)span->id);
    return view_of(text);
}

static void put_head(struct buf *out, const struct job_trace *trace,
                     const struct span *span)
{
    buf_add(out, VIEW("{\"traceId\":\""));
    buf_append(out, trace->id, TRACE_ID_LEN);
    buf_add(out, VIEW("\",\"spanId\":\""));
    put_hex(out, span->id);
    if (span->parent != 0) {
        buf_add(out, VIEW("\",\"parentSpanId\":\""));
        put_hex(out, span->parent);
    }
    buf_add(out, VIEW("\",\"flags\":"));
    put_decimal(out, FLAG_SAMPLED | FLAG_REMOTE_KNOWN);
    buf_add(out, VIEW(",\"startTimeUnixNano\":\""));
    put_decimal(out, span->began_ns + trace->since_1970_ns);
    buf_add(out, VIEW("\",\"endTimeUnixNano\":\""));
    put_decimal(out, uv_hrtime() + trace->since_1970_ns);
}

struct span_out *span_write(const struct job_trace *trace, struct span *span,
                            enum span_kind kind, struct view name,
                            struct view of)
{
    struct span ended = *span;
    struct span_out *out = trace->out;
    *span = (struct span){ 0 };
    if (!trace->written || ended.id == 0 || ended.began_ns == 0)
        return NULL;
    buf_clear(&out->text);
    out->attributes = out->links = 0;
    out->failed = false;
    memcpy(out->trace, trace->id, sizeof(out->trace));
    put_head(&out->text, trace, &ended);
    buf_add(&out->text, VIEW("\",\"kind\":"));
    put_decimal(&out->text, kind);
    buf_add(&out->text, VIEW(",\"name\":\""));
    put_string(&out->text, name);
    if (of.len > 0)
        buf_add(&out->text, VIEW(" "));
    put_string(&out->text, view_head(of, SPAN_TEXT_BYTES));
    buf_add(&out->text, VIEW("\",\"attributes\":["));
    return out;
}

static void begin_attribute(struct span_out *out, enum trace_key key)
{
    if (out->attributes++ > 0)
        buf_add(&out->text, VIEW(","));
    buf_add(&out->text, trace_names[key].before);
}

static void end_attribute(struct span_out *out, enum trace_key key)
{
    buf_add(&out->text, trace_names[key].behind);
}

static void put_attribute(struct span_out *out, enum trace_key key,
                          struct view text, size_t max)
{
    if (text.len == 0)
        return;
    begin_attribute(out, key);
    put_string(&out->text, view_head(text, max));
    end_attribute(out, key);
}

void span_text(struct span_out *out, enum trace_key key, struct view text)
{
    put_attribute(out, key, text, SPAN_TEXT_BYTES);
}

void span_content(struct span_out *out, enum trace_key key, struct view text)
{
    if (out->content)
        put_attribute(out, key, text, SPAN_CONTENT_BYTES);
}

void span_whole(struct span_out *out, enum trace_key key, uint64_t number)
{
    begin_attribute(out, key);
    put_decimal(&out->text, number);
    end_attribute(out, key);
}

void span_seconds(struct span_out *out, enum trace_key key, uint64_t ns)
{
    begin_attribute(out, key);
    buf_printf(&out->text, "%llu.%09llu", (unsigned long long)ns / 1000000000,
               (unsigned long long)ns % 1000000000);
    end_attribute(out, key);
}

void span_flag(struct span_out *out, enum trace_key key)
{
    begin_attribute(out, key);
    buf_add(&out->text, VIEW("true"));
    end_attribute(out, key);
}

void span_fail(struct span_out *out, struct view code, struct view message)
{
    span_text(out, KEY_ERROR_TYPE, code);
    out->failed = true;
    out->failure = message;
}

/* ------------------------------------------------------------------- links */

static void begin_link(struct span_out *out, struct view trace)
{
    buf_add(&out->text, out->links++ == 0 ? VIEW("],\"links\":[{\"traceId\":\"")
                                          : VIEW(",{\"traceId\":\""));
    buf_add(&out->text, trace);
    buf_add(&out->text, VIEW("\",\"spanId\":\""));
}

static void end_link(struct span_out *out, uint64_t flags)
{
    buf_add(&out->text, VIEW("\",\"flags\":"));
    put_decimal(&out->text, flags);
    buf_add(&out->text, VIEW("}"));
}

void span_link_own(struct span_out *out, uint64_t id)
{
    begin_link(out, view_of(out->trace));
    put_hex(&out->text, id);
    end_link(out, FLAG_SAMPLED | FLAG_REMOTE_KNOWN | FLAG_REMOTE);
}

void span_link_foreign(struct span_out *out, const struct trace *foreign)
{
    struct view flags = trace_flags(foreign->parent);
    begin_link(out, trace_id(foreign->parent));
    buf_add(&out->text, trace_parent(foreign->parent));
    if (foreign->state.len > 0) {
        buf_add(&out->text, VIEW("\",\"traceState\":\""));
        put_string(&out->text, foreign->state);
    }
    end_link(out,
             read_hex(flags.data, flags.len) | FLAG_REMOTE_KNOWN | FLAG_REMOTE);
}

void span_finish(struct span_out *out)
{
    buf_add(&out->text, VIEW("]"));
    if (out->failed) {
        buf_add(&out->text, VIEW(",\"status\":{\"code\":"));
        put_decimal(&out->text, STATUS_ERROR);
        if (out->failure.len > 0) {
            buf_add(&out->text, VIEW(",\"message\":\""));
            put_string(&out->text, view_head(out->failure, SPAN_TEXT_BYTES));
            buf_add(&out->text, VIEW("\""));
        }
        buf_add(&out->text, VIEW("}"));
    }
    buf_add(&out->text, VIEW("}"));
    out->add(out->owner,
             buf_ok(&out->text) ? buf_view(&out->text) : (struct view){ 0 });
}
