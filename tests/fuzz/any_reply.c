/* any_reply.c - any bytes as a model's reply, whole and in pieces: the same
 * message or the same error, and never a call that was cut off. What came of
 * it can be sent in every dialect. */
#include "tests/fuzz/any_reply.h"

#include <string.h>

#include "consumer/model/model.h"
#include "consumer/model/reasoning.h"
#include "consumer/model/reply.h"
#include "consumer/model/reply_error.h"
#include "consumer/model/reply_json.h"
#include "tests/fuzz/fuzz.h"

static void feed(struct reply *reply, const char *data, size_t len,
                 unsigned seed)
{
    while (len > 0) {
        size_t size = seed ? 1 + (size_t)rand_r(&seed) % 50 : len;

        if (size > len)
            size = len;
        reply_feed(reply, (struct view){ data, size });
        data += size;
        len -= size;
    }
}

/* Whether the text is an object, a list or a string that has not ended. */
static bool is_open(struct view text)
{
    bool in_string = false;
    size_t depth = 0, at = 0;

    while (at < text.len && byte_is_of(text.data[at], " \t\r\n"))
        at++;
    if (at == text.len || !byte_is_of(text.data[at], "{[\""))
        return false;
    for (; at < text.len; at++) {
        if (in_string && text.data[at] == '\\')
            at++;
        else if (text.data[at] == '"')
            in_string = !in_string;
        else if (!in_string && byte_is_of(text.data[at], "{["))
            depth++;
        else if (!in_string && byte_is_of(text.data[at], "}]"))
            depth--;
        if (depth == 0 && !in_string)
            return false;
    }
    return true;
}

static void check_calls(const struct model_reply *result, uint64_t max_tokens)
{
    json_t *calls = json_object_get(result->message, "tool_calls");
    json_t *call;
    size_t i;

    MUST(!result->truncated || calls == NULL);
    MUST(max_tokens == 0 || result->usage.output_tokens < max_tokens ||
         calls == NULL);
    MUST(json_array_size(calls) <= REPLY_MAX_CALLS);
    json_array_foreach(calls, i, call) {
        json_t *function = json_object_get(call, "function");

        MUST(json_is_string(json_object_get(call, "id")));
        MUST(reply_json_text(function, "name").len > 0);
        MUST(!is_open(reply_json_text(function, "arguments")));
    }
}

void fuzz_requests(json_t *messages)
{
    static const struct dialect *const dialects[] = {
        &dialect_chat,
        &dialect_anthropic,
        &dialect_responses,
    };
    struct model_request request = { .messages = messages };

    for (size_t i = 0; i < 3; i++) {
        char name[] = "e", hash[65];
        struct model_endpoint endpoint = { .dialect = dialects[i],
                                           .name = name,
                                           .model = name };
        CLEANUP(buf_finish) struct buf body = { 0 };
        struct err err;
        json_t *json;

        MUST(model_body_make(&body, hash, &endpoint, &request, &err));
        json = json_loadb(body.data, body.len, JSON_ALLOW_NUL, NULL);
        MUST(json_is_object(json));
        json_decref(json);
    }
}

static void check_requests(json_t *message)
{
    json_t *messages = json_pack("[O, O]", message, message);

    opaque_sign(message, "e");
    fuzz_requests(messages);
    json_decref(messages);
}

/* The message as JSON, or the code of the error; free() it. */
static char *read_reply(const struct dialect *dialect, struct view bytes,
                        unsigned seed, uint64_t max_tokens)
{
    struct reply *reply = reply_new(dialect, (struct reply_events){ 0 }, NULL);
    struct model_reply result;
    struct err err = { 0 };
    char *made;

    reply_limit(reply, max_tokens);
    feed(reply, bytes.data, bytes.len, seed);
    if (reply_end(reply, true, &result, &err)) {
        check_calls(&result, max_tokens);
        check_requests(result.message);
        made = json_dumps(result.message, JSON_COMPACT);
    } else {
        MUST(err.kind != ERR_NONE);
        made = strdup(err.code);
    }
    MUST(made != NULL);
    reply_free(reply);
    return made;
}

static void read_error(struct view body)
{
    struct reply_error error;
    struct err err = { 0 };

    reply_error_parse(&error, body);
    MUST(!reply_error_judge(&error, 400, 0, &err));
    MUST(err.kind != ERR_NONE);
    struct reply_size size = reply_error_size(&error);

    MUST(size.request == 0 ||
         (size.request >= LEAST_WINDOW && size.request <= MOST_WINDOW));
    MUST(size.window == 0 ||
         (size.window >= LEAST_WINDOW && size.window <= MOST_WINDOW));
    MUST(size.request + size.window == 0 ||
         strcmp(err.code, "model_context") == 0);
}

int fuzz_any_reply(const struct dialect *dialect, const uint8_t *data,
                   size_t size)
{
    struct view bytes = { (const char *)data + 1, size - 1 };
    CLEANUP(cleanup_free) char *whole = NULL;
    CLEANUP(cleanup_free) char *pieces = NULL;

    if (size == 0)
        return 0;
    whole = read_reply(dialect, bytes, 0, data[0] % 16);
    pieces = read_reply(dialect, bytes, data[0] + 1u, data[0] % 16);
    MUST(strcmp(whole, pieces) == 0);
    read_error(bytes);
    return 0;
}
