/* chat_object.c - what a job has answered as a chat completion. */
#include "producer/gateway/chat/chat_object.h"

#include <stdio.h>
#include <string.h>

#include "producer/gateway/body/body.h"
#include "producer/gateway/chat/chat_links.h"
#include "producer/gateway/responses/response_object.h"
#include "schemas/message/limits.h"

enum { TEXT_BYTES = 2 * MAX_RESULT_BYTES }; /* with the URLs of all links */

void chat_id_write(char id[CHAT_ID_BYTES], struct view job)
{
    char response[RESPONSE_ID_BYTES];

    response_id_write(response, job);
    snprintf(id, CHAT_ID_BYTES, "chatcmpl-%s", response + strlen("resp_"));
}

static bool member_is(const json_t *object, const char *name, const char *word)
{
    return view_is(body_string(json_object_get(object, name)), word);
}

/* ----------------------------------------------------------------- the end */

bool chat_failed(const json_t *response, struct chat_failure *failure)
{
    const json_t *error = json_object_get(response, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));

    *failure = (struct chat_failure){ 500, "server_error",
                                      code ? code : "server_error",
                                      message ? message : "the job failed" };
    if (member_is(response, "status", "cancelled")) {
        failure->code = "cancelled";
        failure->message = "the job was cancelled";
        return true;
    }
    if (!member_is(response, "status", "failed"))
        return false;
    if (strcmp(failure->code, "rate_limit_exceeded") == 0) {
        failure->status = 429;
        failure->type = "rate_limit_error";
    } else if (strcmp(failure->code, "invalid_prompt") == 0) {
        failure->status = 400;
        failure->type = "invalid_request_error";
    }
    return true;
}

static bool has_calls(const json_t *response)
{
    const json_t *output = json_object_get(response, "output"), *item;
    size_t i;

    json_array_foreach(output, i, item)
        if (member_is(item, "type", "function_call"))
            return true;
    return false;
}

const char *chat_finish_reason(const json_t *response)
{
    const json_t *why = json_object_get(response, "incomplete_details");

    if (member_is(response, "status", "incomplete"))
        return member_is(why, "reason", "content_filter") ? "content_filter"
                                                          : "length";
    return has_calls(response) ? "tool_calls" : "stop";
}

static json_int_t count_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

json_t *chat_usage(const json_t *response)
{
    const json_t *usage = json_object_get(response, "usage");
    const json_t *in = json_object_get(usage, "input_tokens_details");
    const json_t *out = json_object_get(usage, "output_tokens_details");

    return json_pack("{s:I, s:I, s:I, s:{s:I}, s:{s:I}}", "prompt_tokens",
                     count_of(usage, "input_tokens"), "completion_tokens",
                     count_of(usage, "output_tokens"), "total_tokens",
                     count_of(usage, "total_tokens"), "prompt_tokens_details",
                     "cached_tokens", count_of(in, "cached_tokens"),
                     "completion_tokens_details", "reasoning_tokens",
                     count_of(out, "reasoning_tokens"));
}

/* ------------------------------------------------------------------ whole */

json_t *chat_call(const json_t *item)
{
    return json_pack("{s:O, s:s, s:{s:O, s:O}}", "id",
                     json_object_get(item, "call_id"), "type", "function",
                     "function", "name", json_object_get(item, "name"),
                     "arguments", json_object_get(item, "arguments"));
}

static chat_linked chat_add_message(struct buf *text,
                                    const struct wire_job *job,
                                    const struct result *result,
                                    const json_t *item)
{
    const json_t *parts = json_object_get(item, "content"), *part;
    chat_linked linked = 0;
    size_t i;

    json_array_foreach(parts, i, part)
        linked |= chat_add_text(text, job, result,
                                body_string(json_object_get(part, "text")));
    return linked;
}

static void add_content(struct buf *text, const struct wire_job *job,
                        const json_t *output, const struct result *result)
{
    bool is_json = wire_wants_json(job);
    chat_linked linked = 0;
    const json_t *item;
    size_t i;

    json_array_foreach(output, i, item)
        if (member_is(item, "type", "message"))
            linked |= chat_add_message(text, job, result, item);
        else if (member_is(item, "type", "code_interpreter_call") && !is_json)
            chat_add_images(text, item);
    if (is_json)
        return; /* links would spoil it */
    chat_add_files(text, job, result, linked);
}

static json_t *calls_of(const json_t *output)
{
    json_t *calls = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(output, i, item)
        if (member_is(item, "type", "function_call"))
            json_array_append_new(calls, chat_call(item));
    return calls;
}

json_t *chat_object(const struct wire_job *job, const json_t *response,
                    const struct result *result)
{
    CLEANUP(buf_finish) struct buf text = { .max = TEXT_BYTES };
    const json_t *output = json_object_get(response, "output");
    json_t *calls = calls_of(output), *message;
    char id[CHAT_ID_BYTES];

    add_content(&text, job, output, result);
    chat_id_write(id, job->id);
    message =
        json_pack("{s:s, s:o, s:n}", "role", "assistant", "content",
                  text.len > 0 || json_array_size(calls) == 0
                      ? json_stringn(text.len > 0 ? text.data : "", text.len)
                      : json_null(),
                  "refusal");
    if (json_array_size(calls) > 0)
        json_object_set(message, "tool_calls", calls);
    json_decref(calls);
    return json_pack("{s:s, s:s, s:O, s:O, s:[{s:i, s:o, s:n, s:s}], s:o}",
                     "id", id, "object", "chat.completion", "created",
                     json_object_get(response, "created_at"), "model",
                     json_object_get(response, "model"), "choices", "index", 0,
                     "message", message, "logprobs", "finish_reason",
                     chat_finish_reason(response), "usage",
                     chat_usage(response));
}
