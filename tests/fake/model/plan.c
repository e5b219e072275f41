/* plan.c - a reply object turned into bytes and pieces. */
#include "plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "speech.h"

static uint64_t milliseconds(const json_t *reply, const char *name)
{
    json_int_t value = reply_integer(reply, name, 0);

    return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const json_t *reply, const char *name)
{
    return json_string_value(json_object_get(reply, name));
}

void plan_piece(struct plan *plan, size_t end)
{
    if (plan->pieces % 64 == 0) {
        plan->ends =
            realloc(plan->ends, (plan->pieces + 64) * sizeof(*plan->ends));
        assert(plan->ends);
    }
    plan->ends[plan->pieces++] = end;
}

/* "chunk": the number of bytes of a piece, or "random". */
static void recut(struct plan *plan, const json_t *reply)
{
    json_t *chunk = json_object_get(reply, "chunk");
    json_int_t size = json_integer_value(chunk);
    unsigned seed = (unsigned)reply_integer(reply, "seed", 1);

    if (!chunk || (json_is_integer(chunk) && size < 1))
        return;
    plan->apart = true;
    plan->pieces = 0;
    for (size_t at = 0; at < plan->len;) {
        size_t step = json_is_integer(chunk) ? (size_t)size
                                             : 1 + (size_t)rand_r(&seed) % 97;

        at = step < plan->len - at ? at + step : plan->len;
        plan_piece(plan, at);
    }
}

/* "cut": only so many bytes, then the connection is closed. */
static void cut(struct plan *plan, const json_t *reply)
{
    json_int_t at = reply_integer(reply, "cut", -1);
    size_t kept = 0;

    if (at < 0)
        return;
    plan->broken = true;
    if ((size_t)at < plan->len)
        plan->len = (size_t)at;
    while (kept < plan->pieces && plan->ends[kept] < plan->len)
        kept++;
    if (kept < plan->pieces)
        plan->ends[kept++] = plan->len;
    plan->pieces = plan->len > 0 ? kept : 0;
}

static bool wants_stream(const json_t *reply, const json_t *request)
{
    json_t *forced = json_object_get(reply, "stream");

    return json_is_true(forced ? forced : json_object_get(request, "stream"));
}

/* A sentence, or the whole object, as that speech has it. */
static json_t *error_json(const struct speech *speech, json_t *error,
                          unsigned status)
{
    if (json_is_object(error))
        error = json_deep_copy(error);
    else
        error = json_pack("{s:s, s:s}", "message",
                          json_is_string(error) ? json_string_value(error)
                                                : "practice error",
                          "type", "practice");
    return speech->error(error, status);
}

static void write_error(struct writer *writer, const struct speech *speech)
{
    write_json(writer,
               error_json(speech, json_object_get(writer->reply, "error"),
                          writer->plan->status));
    wrote_piece(writer);
}

/* In place of the end of a stream. */
static void write_stream_error(struct writer *writer,
                               const struct speech *speech)
{
    json_t *error = json_object_get(writer->reply, "stream_error");

    if (error)
        write_event(writer, speech == &speech_chat ? NULL : "error",
                    error_json(speech, error, 200));
}

static void write_body(struct writer *writer, const struct speech *speech)
{
    struct plan *plan = writer->plan;
    json_t *raw = json_object_get(writer->reply, "body");
    bool streams = wants_stream(writer->reply, writer->request);

    plan->type = "application/json";
    if (json_is_string(raw)) {
        fwrite(json_string_value(raw), 1, json_string_length(raw), writer->out);
        if (streams)
            plan->type = "text/event-stream";
        wrote_piece(writer);
    } else if (plan->status >= 400 || json_object_get(writer->reply, "error")) {
        write_error(writer, speech);
    } else if (streams) {
        plan->type = "text/event-stream";
        speech->stream(writer, writer->request);
        write_stream_error(writer, speech);
    } else {
        speech->plain(writer, writer->request);
        wrote_piece(writer);
    }
}

void plan_make(struct plan *plan, const struct speech *speech,
               const json_t *reply, const json_t *request)
{
    struct writer writer = {
        .plan = plan, .reply = reply, .request = request, .output = json_array()
    };

    *plan = (struct plan){
        .status = (unsigned)reply_integer(reply, "status", 200),
        .headers = json_object_get(reply, "headers"),
        .delay_ms = milliseconds(reply, "delay_ms"),
        .first_ms = milliseconds(reply, "first_ms"),
        .chunk_ms = milliseconds(reply, "chunk_ms"),
        .apart = json_object_get(reply, "chunk_ms") != NULL,
        .stamped = json_is_true(json_object_get(reply, "stamp")),
        .drop = json_is_true(json_object_get(reply, "drop")),
    };
    writer.model = text(request, "model");
    if (!writer.model)
        writer.model = "practice";
    writer.out = open_memstream(&plan->body, &plan->len);
    assert(writer.out);
    write_body(&writer, speech);
    json_decref(writer.output);
    fclose(writer.out);
    recut(plan, reply);
    cut(plan, reply);
    plan->apart = plan->apart || plan->stamped;
}

void plan_stamp(char *data, size_t len)
{
    char *stamp = memmem(data, len, PLAN_STAMP, sizeof(PLAN_STAMP) - 1);
    char digits[21];

    if (!stamp)
        return;
    snprintf(digits, sizeof(digits), "%012llu",
             (unsigned long long)(uv_hrtime() / 1000 % 1000000000000));
    memcpy(stamp, digits, sizeof(PLAN_STAMP) - 1);
}

void plan_finish(struct plan *plan)
{
    free(plan->body);
    free(plan->ends);
}
