/* plan.c - a reply object turned into bytes and pieces. */
#include "plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_PIECE = 12 /* bytes of text in one delta */ };

struct writer {
    struct plan *plan;
    FILE *out;
    const json_t *reply;
    const char *model;
};

static json_int_t integer(const json_t *reply, const char *name,
                          json_int_t otherwise)
{
    json_t *value = json_object_get(reply, name);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static uint64_t milliseconds(const json_t *reply, const char *name)
{
    json_int_t value = integer(reply, name, 0);

    return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const json_t *reply, const char *name)
{
    return json_string_value(json_object_get(reply, name));
}

static void piece_end(struct plan *plan, size_t end)
{
    if (plan->pieces % 64 == 0) {
        plan->ends =
            realloc(plan->ends, (plan->pieces + 64) * sizeof(*plan->ends));
        assert(plan->ends);
    }
    plan->ends[plan->pieces++] = end;
}

static void wrote_piece(struct writer *writer)
{
    fflush(writer->out);
    piece_end(writer->plan, writer->plan->len);
}

static void write_json(struct writer *writer, json_t *value)
{
    json_dumpf(value, writer->out, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(value);
}

/* One chunk of a stream; takes the choices. */
static void write_chunk(struct writer *writer, json_t *choices, json_t *usage)
{
    json_t *chunk =
        json_pack("{s:s, s:s, s:i, s:s, s:o}", "id", "chatcmpl-practice",
                  "object", "chat.completion.chunk", "created", 0, "model",
                  writer->model, "choices", choices);

    if (usage)
        json_object_set(chunk, "usage", usage);
    fputs("data: ", writer->out);
    write_json(writer, chunk);
    fputs("\n\n", writer->out);
    wrote_piece(writer);
}

/* Takes the delta; finish may be NULL. */
static void write_delta(struct writer *writer, json_t *delta,
                        const char *finish)
{
    write_chunk(writer,
                json_pack("[{s:i, s:o, s:s?}]", "index", 0, "delta", delta,
                          "finish_reason", finish),
                NULL);
}

/* The bytes of the next delta, never cutting a UTF-8 character in two. */
static size_t delta_size(const char *data, size_t left, size_t want)
{
    size_t size = want < left ? want : left;

    while (size < left && ((unsigned char)data[size] & 0xC0) == 0x80)
        size++;
    return size;
}

static void write_text(struct writer *writer, const char *member,
                       const json_t *value)
{
    const char *data = json_string_value(value);
    size_t left = json_string_length(value);

    while (left > 0) {
        size_t size = delta_size(data, left, TEXT_PIECE);

        write_delta(
            writer,
            json_pack("{s:o}", member, json_stringn_nocheck(data, size)), NULL);
        data += size;
        left -= size;
    }
}

/* What the script says of a call, in the form of the wire: "raw" as it is. */
static json_t *call_head(const json_t *call, size_t position, json_t *arguments)
{
    json_t *raw = json_object_get(call, "raw");
    json_t *index = json_object_get(call, "index");
    json_t *id = json_object_get(call, "id");
    json_t *head;

    if (raw)
        return json_incref(raw);
    head = json_pack("{s:s, s:{s:O?, s:o}}", "type", "function", "function",
                     "name", json_object_get(call, "name"), "arguments",
                     arguments);
    if (!json_is_null(index))
        json_object_set_new(head, "index",
                            index ? json_incref(index)
                                  : json_integer((json_int_t)position));
    if (id)
        json_object_set(head, "id", id);
    return head;
}

static void write_call_delta(struct writer *writer, json_t *call)
{
    write_delta(writer, json_pack("{s:[o]}", "tool_calls", call), NULL);
}

static void write_call(struct writer *writer, const json_t *call,
                       size_t position)
{
    json_t *arguments = json_object_get(call, "arguments");
    json_t *index = json_object_get(call, "index");
    const char *data = json_string_value(arguments);
    size_t left = json_string_length(arguments);

    if (!data) {
        write_call_delta(writer, call_head(call, position,
                                           arguments ? json_incref(arguments)
                                                     : json_null()));
        return;
    }
    write_call_delta(writer, call_head(call, position, json_string("")));
    while (left > 0) {
        size_t size = delta_size(data, left, TEXT_PIECE);
        json_t *piece = json_pack("{s:{s:o}}", "function", "arguments",
                                  json_stringn_nocheck(data, size));

        if (!json_is_null(index))
            json_object_set_new(piece, "index",
                                index ? json_incref(index)
                                      : json_integer((json_int_t)position));
        write_call_delta(writer, piece);
        data += size;
        left -= size;
    }
}

static json_t *usage_of(const json_t *reply, const json_t *request)
{
    json_t *given = json_object_get(reply, "usage");
    size_t in, out;

    if (given)
        return json_is_null(given) ? NULL : json_incref(given);
    in = json_dumpb(json_object_get(request, "messages"), NULL, 0, 0) / 4;
    out = json_string_length(json_object_get(reply, "text")) / 4 + 8;
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)in,
                     "completion_tokens", (json_int_t)out, "total_tokens",
                     (json_int_t)in + (json_int_t)out);
}

static const char *finish_of(const json_t *reply)
{
    json_t *finish = json_object_get(reply, "finish_reason");

    if (finish)
        return json_string_value(finish);
    return json_array_size(json_object_get(reply, "tool_calls")) > 0
               ? "tool_calls"
               : "stop";
}

static const char *reasoning_name(const json_t *reply)
{
    const char *name = text(reply, "reasoning_name");

    return name ? name : "reasoning_content";
}

static void write_stream(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply, *options, *call;
    const char *finish = finish_of(reply);
    json_t *usage = usage_of(reply, request);
    size_t i;

    for (json_int_t n = integer(reply, "keep_alive", 0); n > 0; n--) {
        fputs(": keep-alive\n\n", writer->out);
        wrote_piece(writer);
    }
    write_delta(writer,
                json_pack("{s:s, s:s}", "role", "assistant", "content", ""),
                NULL);
    write_text(writer, reasoning_name(reply),
               json_object_get(reply, "reasoning"));
    write_text(writer, "content", json_object_get(reply, "text"));
    json_array_foreach(json_object_get(reply, "tool_calls"), i, call)
        write_call(writer, call, i);
    if (finish)
        write_delta(writer, json_object(), finish);
    options = json_object_get(request, "stream_options");
    if (usage && json_is_true(json_object_get(options, "include_usage")))
        write_chunk(writer, json_array(), usage);
    json_decref(usage);
    if (!json_is_false(json_object_get(reply, "done"))) {
        fputs("data: [DONE]\n\n", writer->out);
        wrote_piece(writer);
    }
}

static void write_plain(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply, *call;
    json_t *calls = json_array();
    json_t *content = json_object_get(reply, "text");
    json_t *message =
        json_pack("{s:s, s:O?}", "role", "assistant", "content", content);
    json_t *usage = usage_of(reply, request);
    json_t *body;
    size_t i;

    json_array_foreach(json_object_get(reply, "tool_calls"), i, call) {
        json_t *arguments = json_object_get(call, "arguments");

        json_array_append_new(calls,
                              call_head(call, i, json_incref(arguments)));
    }
    if (json_object_get(reply, "reasoning"))
        json_object_set(message, reasoning_name(reply),
                        json_object_get(reply, "reasoning"));
    if (json_array_size(calls) > 0)
        json_object_set(message, "tool_calls", calls);
    json_decref(calls);
    body = json_pack("{s:s, s:s, s:i, s:s, s:[{s:i, s:o, s:s?}]}", "id",
                     "chatcmpl-practice", "object", "chat.completion",
                     "created", 0, "model", writer->model, "choices", "index",
                     0, "message", message, "finish_reason", finish_of(reply));
    if (usage)
        json_object_set_new(body, "usage", usage);
    write_json(writer, body);
    wrote_piece(writer);
}

static void write_error(struct writer *writer)
{
    json_t *error = json_object_get(writer->reply, "error");

    if (json_is_object(error))
        error = json_incref(error);
    else
        error = json_pack("{s:s, s:s}", "message",
                          json_is_string(error) ? json_string_value(error)
                                                : "practice error",
                          "type", "practice");
    write_json(writer, json_pack("{s:o}", "error", error));
    wrote_piece(writer);
}

/* "chunk": the number of bytes of a piece, or "random". */
static void recut(struct plan *plan, const json_t *reply)
{
    json_t *chunk = json_object_get(reply, "chunk");
    json_int_t size = json_integer_value(chunk);
    unsigned seed = (unsigned)integer(reply, "seed", 1);

    if (!chunk || (json_is_integer(chunk) && size < 1))
        return;
    plan->apart = true;
    plan->pieces = 0;
    for (size_t at = 0; at < plan->len;) {
        size_t step = json_is_integer(chunk) ? (size_t)size
                                             : 1 + (size_t)rand_r(&seed) % 97;

        at = step < plan->len - at ? at + step : plan->len;
        piece_end(plan, at);
    }
}

/* "cut": only so many bytes, then the connection is closed. */
static void cut(struct plan *plan, const json_t *reply)
{
    json_int_t at = integer(reply, "cut", -1);
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

static void write_body(struct writer *writer, const json_t *request)
{
    struct plan *plan = writer->plan;
    json_t *raw = json_object_get(writer->reply, "body");

    plan->type = "application/json";
    if (json_is_string(raw)) {
        fwrite(json_string_value(raw), 1, json_string_length(raw), writer->out);
        if (wants_stream(writer->reply, request))
            plan->type = "text/event-stream";
        wrote_piece(writer);
    } else if (plan->status >= 400 || json_object_get(writer->reply, "error")) {
        write_error(writer);
    } else if (wants_stream(writer->reply, request)) {
        plan->type = "text/event-stream";
        write_stream(writer, request);
    } else {
        write_plain(writer, request);
    }
}

void plan_make(struct plan *plan, const json_t *reply, const json_t *request)
{
    struct writer writer = { .plan = plan, .reply = reply };

    *plan = (struct plan){
        .status = (unsigned)integer(reply, "status", 200),
        .headers = json_object_get(reply, "headers"),
        .delay_ms = milliseconds(reply, "delay_ms"),
        .first_ms = milliseconds(reply, "first_ms"),
        .chunk_ms = milliseconds(reply, "chunk_ms"),
        .apart = json_object_get(reply, "chunk_ms") != NULL,
        .drop = json_is_true(json_object_get(reply, "drop")),
    };
    writer.model = text(request, "model");
    if (!writer.model)
        writer.model = "practice";
    writer.out = open_memstream(&plan->body, &plan->len);
    assert(writer.out);
    write_body(&writer, request);
    fclose(writer.out);
    recut(plan, reply);
    cut(plan, reply);
}

void plan_finish(struct plan *plan)
{
    free(plan->body);
    free(plan->ends);
}
