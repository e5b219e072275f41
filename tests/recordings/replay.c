/* replay.c - what the reply reader makes of recorded bytes, however they are
 * cut into pieces.
 *
 * A recording is a line and then so many bytes:
 *
 *   STATUS MAX_TOKENS WHOLE SPLITS SEED BYTES\n
 *
 * WHOLE is 0 when the connection broke behind the last byte. The answer is a
 * line of JSON: what came of them in one piece. They are read again byte by
 * byte and in SPLITS random ways; where something else comes of that, the
 * answer is {"differs": what, "at": the split}. The argument names a dialect;
 * without one it is chat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/dialect.h"
#include "consumer/model/reply.h"
#include "consumer/model/reply_error.h"
#include "schemas/message/buf.h"

enum { MAX_BODY = 64 << 20 };

struct recording {
    unsigned status, whole, splits, seed;
    unsigned long max_tokens;
    size_t len;
    char *body;
};

/* Split 0 is the whole, 1 is byte by byte. */
static size_t piece_size(unsigned split, size_t left, unsigned *seed)
{
    size_t most = 1 + (size_t)rand_r(seed) % 400;
    size_t size = split == 0   ? left
                  : split == 1 ? 1
                               : 1 + (size_t)rand_r(seed) % most;

    return size < left ? size : left;
}

static void feed(struct reply *reply, const struct recording *recording,
                 unsigned split)
{
    unsigned seed = recording->seed + split;
    size_t at = 0;

    while (at < recording->len) {
        size_t size = piece_size(split, recording->len - at, &seed);

        reply_feed(reply, (struct view){ recording->body + at, size });
        at += size;
    }
}

static json_t *text_json(struct view text)
{
    return json_stringn(text.len > 0 ? text.data : "", text.len);
}

static json_t *error_json(const struct err *err)
{
    return json_pack("{s:s, s:s, s:b}", "code", err->code, "text", err->text,
                     "retry", err->kind == ERR_RETRY);
}

/* What was told while it came, beside what came of it in the end. */
struct told {
    struct buf text, reasoning;
    json_t *calls;
};

static void on_text(void *owner, struct view text)
{
    buf_add(&((struct told *)owner)->text, text);
}

static void on_reasoning(void *owner, struct view text)
{
    buf_add(&((struct told *)owner)->reasoning, text);
}

static void on_call(void *owner, struct view tool)
{
    json_array_append_new(((struct told *)owner)->calls, text_json(tool));
}

static json_t *result_json(const struct model_reply *result,
                           const struct told *told)
{
    return json_pack(
        "{s:O, s:o, s:b, s:I, s:I, s:I, s:I, s:o, s:o, s:O}", "message",
        result->message, "finish_reason", text_json(result->finish_reason),
        "truncated", result->truncated, "dropped_calls",
        (json_int_t)result->dropped_calls, "input_tokens",
        (json_int_t)result->usage.input_tokens, "output_tokens",
        (json_int_t)result->usage.output_tokens, "cached_tokens",
        (json_int_t)result->usage.cached_tokens, "told_text",
        text_json(buf_view(&told->text)), "told_reasoning",
        text_json(buf_view(&told->reasoning)), "told_calls", told->calls);
}

/* Of all recordings. */
static const struct dialect *dialect = &dialect_chat;

static json_t *read_reply(const struct recording *recording, unsigned split)
{
    struct reply_events events = { .on_text = on_text,
                                   .on_reasoning = on_reasoning,
                                   .on_call = on_call };
    struct told told = { .calls = json_array() };
    struct model_reply result;
    struct err err = { 0 };
    struct reply *reply = reply_new(dialect, events, &told);
    json_t *json;

    buf_init(&told.text, MAX_BODY);
    buf_init(&told.reasoning, MAX_BODY);
    reply_limit(reply, recording->max_tokens);
    feed(reply, recording, split);
    json = reply_end(reply, recording->whole != 0, &result, &err)
               ? result_json(&result, &told)
               : error_json(&err);
    reply_free(reply);
    buf_finish(&told.text);
    buf_finish(&told.reasoning);
    json_decref(told.calls);
    return json;
}

static json_t *read_error(const struct recording *recording)
{
    struct reply_error error;
    struct err err = { 0 };

    reply_error_parse(&error, (struct view){ recording->body, recording->len });
    reply_error_judge(&error, recording->status, 0, &err);
    return error_json(&err);
}

/* A new reference to what it makes of the recording. */
static json_t *replay(const struct recording *recording)
{
    json_t *made;

    if (recording->status >= 300)
        return read_error(recording);
    made = read_reply(recording, 0);
    for (unsigned split = 1; split < recording->splits + 2; split++) {
        json_t *other = read_reply(recording, split);

        if (!json_equal(made, other)) {
            json_decref(made);
            return json_pack("{s:o, s:I}", "differs", other, "at",
                             (json_int_t)split);
        }
        json_decref(other);
    }
    return made;
}

/* False: the input has ended, or is not one. */
static bool read_recording(struct recording *recording)
{
    *recording = (struct recording){ 0 };
    if (scanf("%u %lu %u %u %u %zu", &recording->status, &recording->max_tokens,
              &recording->whole, &recording->splits, &recording->seed,
              &recording->len) != 6 ||
        getchar() != '\n' || recording->len > MAX_BODY)
        return false;
    recording->body = malloc(recording->len + 1);
    if (!recording->body)
        abort();
    return fread(recording->body, 1, recording->len, stdin) == recording->len;
}

int main(int argc, char **argv)
{
    struct recording recording;

    if (argc > 1)
        dialect = dialect_find(argv[1]);
    if (!dialect)
        return 64;

    while (read_recording(&recording)) {
        json_t *made = replay(&recording);

        json_dumpf(made, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(made);
        free(recording.body);
    }
    free(recording.body);
    return feof(stdin) ? 0 : 1;
}
