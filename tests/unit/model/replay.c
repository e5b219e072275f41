/* replay.c - reads recorded exchanges, one JSON object {status, body} a line,
 * and writes what the reply reader makes of each: the same whole, byte by byte
 * and in random pieces, or it says "differs" and ends with 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/reply.h"
#include "consumer/model/reply_error.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/buf.h"

enum { WHOLE, BYTES, RANDOM, WAYS };

static size_t piece_size(int way, size_t left, unsigned *seed)
{
    size_t size = way == WHOLE   ? left
                  : way == BYTES ? 1
                                 : 1 + (size_t)rand_r(seed) % 200;

    return size < left ? size : left;
}

static void feed(struct reply *reply, struct view bytes, int way)
{
    unsigned seed = 1;

    while (bytes.len > 0) {
        struct view piece = { bytes.data, piece_size(way, bytes.len, &seed) };

        reply_feed(reply, piece);
        bytes.data += piece.len;
        bytes.len -= piece.len;
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

static json_t *result_json(const struct model_reply *result)
{
    return json_pack(
        "{s:O, s:o, s:b, s:I, s:I, s:I}", "message", result->message,
        "finish_reason", text_json(result->finish_reason), "truncated",
        result->truncated, "dropped_calls", (json_int_t)result->dropped_calls,
        "input_tokens", (json_int_t)result->usage.input_tokens, "output_tokens",
        (json_int_t)result->usage.output_tokens);
}

static json_t *replay_reply(struct view body, int way)
{
    struct reply *reply = reply_new((struct reply_events){ 0 }, NULL);
    struct model_reply result;
    struct err err = { 0 };
    json_t *json;

    feed(reply, body, way);
    json = reply_end(reply, true, &result, &err) ? result_json(&result)
                                                 : error_json(&err);
    reply_free(reply);
    return json;
}

static json_t *replay_error(struct view body, unsigned status)
{
    struct reply_error error;
    struct err err = { 0 };

    reply_error_parse(&error, body);
    reply_error_judge(&error, status, 0, &err);
    return error_json(&err);
}

/* False: the pieces made a difference. */
static bool replay(const json_t *exchange)
{
    json_int_t status = json_integer_value(json_object_get(exchange, "status"));
    struct view body = reply_json_text(exchange, "body");
    json_t *made[WAYS] = { 0 };
    bool same = true;

    for (int way = 0; way < WAYS; way++) {
        made[way] = status >= 400 ? replay_error(body, (unsigned)status)
                                  : replay_reply(body, way);
        same = same && json_equal(made[WHOLE], made[way]);
    }
    if (same)
        json_dumpf(made[WHOLE], stdout, JSON_COMPACT);
    puts(same ? "" : "differs");
    for (int way = 0; way < WAYS; way++)
        json_decref(made[way]);
    return same;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    bool same = true;

    while (getline(&line, &room, stdin) > 0) {
        json_t *exchange = json_loads(line, JSON_ALLOW_NUL, NULL);

        same = replay(exchange) && same;
        json_decref(exchange);
    }
    free(line);
    return same ? 0 : 1;
}
