/* test_reply_error.c - what a refusal means: again, or never. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/reply_error.h"

static const struct row {
    const char *name;
    const char *body;
    unsigned status;
    int should_retry;
    const char *code;
    enum err_kind kind;
    const char *text;
} rows[] = {
    { "a rate limit",
      "{\"error\":{\"message\":\"Rate limit reached\",\"type\":\"tokens\","
      "\"param\":null,\"code\":\"rate_limit_exceeded\"}}",
      429, 0, "model_unavailable", ERR_RETRY, "Rate limit reached" },
    { "a quota that is used up",
      "{\"error\":{\"message\":\"You exceeded your current quota\",\"code\":"
      "\"insufficient_quota\"}}",
      429, 0, "model_rejected", ERR_REJECT, "You exceeded your current quota" },
    { "a spend limit",
      "{\"error\":{\"type\":\"enforced_spend_limit_reached\",\"message\":"
      "\"Limit.\"}}",
      429, 0, "model_rejected", ERR_REJECT, "Limit." },
    { "a wrong key", "{\"error\":{\"message\":\"Incorrect API key\"}}", 401, 0,
      "model_rejected", ERR_REJECT, "Incorrect API key" },
    { "an unknown model",
      "{\"error\":{\"code\":\"model_not_found\","
      "\"message\":\"No such model\"}}",
      404, 0, "model_rejected", ERR_REJECT, "No such model" },
    { "a time-out", "", 408, 0, "model_unavailable", ERR_RETRY,
      "no reason given" },
    { "a conflict", "", 409, 0, "model_unavailable", ERR_RETRY,
      "no reason given" },
    { "a server's failure", "upstream connect error", 503, 0,
      "model_unavailable", ERR_RETRY, "upstream connect error" },
    { "an overload of its own number",
      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
      "\"message\":\"Overloaded\"}}",
      529, 0, "model_unavailable", ERR_RETRY, "Overloaded" },
    { "an errand of too many bytes",
      "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\","
      "\"message\":\"Request exceeds the maximum size\"}}",
      413, 0, "model_context", ERR_REJECT, "Request exceeds the maximum size" },
    { "inside a 200, a key that is wrong",
      "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\","
      "\"message\":\"no\"}}",
      200, 0, "model_rejected", ERR_REJECT, "no" },
    { "the endpoint says: again", "{\"error\":\"busy\"}", 400, 1,
      "model_unavailable", ERR_RETRY, "busy" },
    { "the endpoint says: never", "{\"error\":\"no\"}", 503, -1,
      "model_rejected", ERR_REJECT, "no" },
    { "too many tokens for now is throttling",
      "{\"message\":\"Too many tokens, please wait\"}", 400, 0,
      "model_unavailable", ERR_RETRY, "Too many tokens, please wait" },
    { "too many tokens at all is not",
      "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":"
      "\"maximum context length is 8192 tokens\"}}",
      400, 0, "model_context", ERR_REJECT,
      "maximum context length is 8192 tokens" },
    { "a content filter",
      "{\"error\":{\"code\":\"content_filter\",\"message\":\"Filtered\"}}", 400,
      0, "model_refused", ERR_REJECT, "Filtered" },
    { "a call that the model wrote wrongly",
      "{\"error\":{\"code\":\"tool_use_failed\",\"message\":\"Failed\"}}", 400,
      0, "model_garbage", ERR_RETRY, "Failed" },
    { "detail", "{\"detail\":\"Not Found\"}", 404, 0, "model_rejected",
      ERR_REJECT, "Not Found" },
    { "a list around it", "[{\"error\":{\"code\":400,\"message\":\"bad\"}}]",
      400, 0, "model_rejected", ERR_REJECT, "bad" },
    { "detail that is an object", "{\"detail\":{\"error\":\"No such model\"}}",
      404, 0, "model_rejected", ERR_REJECT, "No such model" },
    { "detail that lists what is wrong, and where",
      "{\"detail\":[{\"type\":\"missing\",\"loc\":[\"body\",\"messages\",0,"
      "\"role\"],\"msg\":\"Field required\"}]}",
      422, 0, "model_rejected", ERR_REJECT,
      "body.messages.role: Field required" },
    { "a list of errors",
      "{\"success\":false,\"errors\":[{\"code\":7003,\"message\":\"No "
      "route\"}]}",
      404, 0, "model_rejected", ERR_REJECT, "No route" },
    { "a page", "<html>Bad Gateway</html>", 502, 0, "model_unavailable",
      ERR_RETRY, "an HTML page: Bad Gateway" },
    { "a page with a title",
      "\n<!DOCTYPE html>\n<html><head><style>p {}</style>\n<TITLE lang=en>502 "
      "Bad\n  Gateway </TITLE></head><body><h1>Sorry</h1></body></html>",
      502, 0, "model_unavailable", ERR_RETRY, "an HTML page: 502 Bad Gateway" },
    { "a page without a word", "<html></html>", 502, 0, "model_unavailable",
      ERR_RETRY, "an HTML page" },
    { "compressed bytes", "\x1F\x8B\x08 are no sentence", 500, 0,
      "model_unavailable", ERR_RETRY,
      "a compressed body (gzip), which nobody asked for" },
    { "inside a 200, with a number",
      "{\"error\":{\"code\":502,\"message\":\"Provider returned error\"}}", 200,
      0, "model_unavailable", ERR_RETRY, "Provider returned error" },
    { "inside a 200, with a number of ours",
      "{\"error\":{\"code\":\"401\",\"message\":\"No auth\"}}", 200, 0,
      "model_rejected", ERR_REJECT, "No auth" },
    { "inside a 200, a bad request",
      "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad\"}}",
      200, 0, "model_rejected", ERR_REJECT, "bad" },
    { "inside a 200, anything else", "{\"error\":{\"message\":\"hm\"}}", 200, 0,
      "model_unavailable", ERR_RETRY, "hm" },
    { "a body of strange types",
      "{\"error\":{\"message\":[1],\"code\":{},\"type\":7}}", 500, 0,
      "model_unavailable", ERR_RETRY,
      "{\"error\":{\"message\":[1],\"code\":{},\"type\":7}}" },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *row = &rows[i];
        struct reply_error error;
        struct err err = { 0 };

        reply_error_parse(&error, view_of(row->body));
        assert_false(
            reply_error_judge(&error, row->status, row->should_retry, &err));
        if (strcmp(err.code, row->code) != 0 || err.kind != row->kind ||
            strcmp(err.text, row->text) != 0)
            fail_msg("%s: %s (%d): %s", row->name, err.code, err.kind,
                     err.text);
    }
}

/* What the headers say counts before the body. */
static void test_what_headers_say(void **state)
{
    static const struct {
        const char *body, *location, *encoding;
        unsigned status;
        const char *text;
    } said[] = {
        { "", "", "", 302, "a redirect, which is not followed" },
        { "<html>Moved</html>", "https://a.example/v1?key=k", "", 301,
          "a redirect to https://a.example/v1, which is not followed" },
        { "\x8B\x02\x80", "", "br", 500,
          "a compressed body (br), which nobody asked for" },
        { "plain", "", "identity", 500, "plain" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
        struct reply_error error;
        struct err err;

        reply_error_parse(&error, view_of(said[i].body));
        reply_error_name(&error, said[i].status, said[i].location,
                         said[i].encoding);
        reply_error_judge(&error, said[i].status, 0, &err);
        assert_string_equal(err.text, said[i].text);
    }
}

static void test_members(void **state)
{
    struct reply_error error;

    (void)state;
    reply_error_parse(&error, VIEW("{\"error\":{\"message\":\"m\",\"type\":"
                                   "\"t\",\"param\":\"p\",\"code\":12}}"));
    assert_string_equal(error.message, "m");
    assert_string_equal(error.type, "t");
    assert_string_equal(error.param, "p");
    assert_string_equal(error.code, "12");
}

static void test_long_sentences_are_cut_between_characters(void **state)
{
    struct reply_error error;
    char body[600] = "";

    (void)state;
    for (size_t i = 0; i < 150; i++)
        strcat(body, "\xE2\x82\xAC");
    reply_error_parse(&error, view_of(body));
    assert_int_equal(strlen(error.message), 255);
    assert_true(view_is_utf8(view_of(error.message)));
}

/* As endpoints word it: agents of all kinds have met these. As far as they name
 * them: tokens of the request, and of the window. */
static const struct length {
    const char *sentence;
    uint64_t request, window;
} lengths[] = {
    { "This model's maximum context length is 8192 tokens. However, ...", 0,
      8192 },
    { "This model's maximum context length is 8192 tokens. However, your "
      "messages resulted in 9873 tokens. Please reduce the length of the "
      "messages.",
      9873, 8192 },
    { "This model's maximum context length is 8192 tokens. However, your "
      "messages resulted in 9873 tokens (9000 in the messages, 873 in the "
      "functions).",
      9873, 8192 },
    { "This model's maximum context length is 4097 tokens. However, you "
      "requested 4203 tokens (3703 in the messages, 500 in the completion). "
      "Please reduce the length of the messages or completion.",
      3703, 4097 },
    { "This model's maximum context length is 16385 tokens. However, you "
      "requested 17500 tokens (9000 in the messages, 7500 in the functions, "
      "and 1000 in the completion).",
      16500, 16385 },
    { "This model's maximum context length is 8191 tokens, however you "
      "requested 10346 tokens (10341 in your prompt; 5 for the completion).",
      10341, 8191 },
    { "This model's maximum context length is 2048 tokens. However, your "
      "request has 3000 input tokens. Please reduce the length of the input "
      "messages.",
      3000, 2048 },
    { "'max_tokens' or 'max_completion_tokens' is too large: 2000. This "
      "model's maximum context length is 4096 tokens and your request has "
      "2104 input tokens (2000 > 4096 - 2104).",
      2104, 4096 },
    { "This model's maximum context length is 128000 tokens. However, you "
      "requested 65535 output tokens and your prompt contains at least 62466 "
      "input tokens, for a total of at least 128001 tokens.",
      62466, 128000 },
    { "The decoder prompt (length 10127) is longer than the maximum model "
      "length of 8192.",
      10127, 8192 },
    { "This endpoint's maximum context length is 1048576 tokens. However, you "
      "requested about 1293741 tokens (1227853 of text input, 353 of tool "
      "input, 65535 in the output).",
      1228206, 1048576 },
    { "This model's maximum prompt length is 131072 but the request contains "
      "136973 tokens.",
      136973, 131072 },
    { "Prompt contains 65673 tokens and 0 draft tokens, too large for model "
      "with 32768 maximum context length",
      65673, 32768 },
    { "prompt is too long: 208310 tokens > 200000 maximum", 208310, 200000 },
    { "input length and `max_tokens` exceed context limit: 190000 + 20000 > "
      "200000, decrease input length or `max_tokens` and try again",
      190000, 200000 },
    { "the request exceeds the available context size, try increasing it", 0,
      0 },
    { "request (9004 tokens) exceeds the available context size (2048 tokens), "
      "try increasing it",
      9004, 2048 },
    { "{\"error\":{\"code\":400,\"message\":\"the request exceeds the "
      "available context size\",\"type\":\"exceed_context_size_error\","
      "\"n_prompt_tokens\":9004,\"n_ctx\":2048}}",
      9004, 2048 },
    { "The input (61709 tokens) is longer than the model's context length "
      "(40960 tokens).",
      61709, 40960 },
    { "Requested token count exceeds the model's maximum context length of "
      "8192 tokens. You requested a total of 9000 tokens: 8000 tokens from the "
      "input messages and 1000 tokens for the completion.",
      8000, 8192 },
    { "Input length (160062 tokens) exceeds the maximum allowed length (59862 "
      "tokens).",
      160062, 59862 },
    { "Input length 9000 exceeds the maximum allowed input length of 8192 "
      "tokens.",
      9000, 8192 },
    { "The input token count (1054016) exceeds the maximum number of tokens "
      "allowed (1048576).",
      1054016, 1048576 },
    { "The input token count (9000) exceeds the maximum number of tokens "
      "(8192).",
      9000, 8192 },
    { "Your request exceeded model token limit: 131072 (requested: 140000)",
      140000, 131072 },
    { "prompt token count of 130000 exceeds the limit of 128000", 130000,
      128000 },
    { "Input validation error: `inputs` tokens + `max_new_tokens` must be <= "
      "4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
      5000, 4096 },
    { "Please reduce the length of the messages.", 0, 0 },
    { "Token limit reached", 0, 0 },
    { "maximum context length is 0 tokens, prompt contains -5 tokens", 0, 0 },
    { "prompt is too long: 9 tokens > 8 maximum", 0, 0 },
    { "prompt is too long: 99999999999999999999 > 100000001", 0, 0 },
};

static void test_a_conversation_that_is_too_long(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const struct length *row = &lengths[i];
        struct reply_error error;
        struct err err = { 0 };

        reply_error_parse(&error, view_of(row->sentence));
        reply_error_judge(&error, 400, 0, &err);
        struct reply_size size = reply_error_size(&error);
        if (strcmp(err.code, "model_context") != 0 ||
            size.request != row->request || size.window != row->window)
            fail_msg("%s: %s, %llu of %llu tokens", row->sentence, err.code,
                     (unsigned long long)size.request,
                     (unsigned long long)size.window);
    }
}

/* Numbers of other errors mean something else. */
static void test_what_is_not_too_long_says_nothing_of_a_window(void **state)
{
    static const char *const sentences[] = {
        "temperature: 2000 > 1000",
        "Please reduce the length of the messages: 40000000 bytes > 33554432 "
        "bytes",
        "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\","
        "\"message\":\"Request exceeds the maximum size: 40000000 bytes > "
        "33554432 bytes\"}}",
        "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\","
        "\"message\":\"the input length 9000 exceeds the limit of 8192\"}}",
        "Rate limit reached: your request has 9000 tokens",
        "{\"error\":{\"message\":\"busy\",\"n_ctx\":2048}}",
        "{\"error\":{\"message\":\"busy\",\"n_prompt_tokens\":9004}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
        struct reply_error error;

        reply_error_parse(&error, view_of(sentences[i]));
        struct reply_size size = reply_error_size(&error);
        if (size.request != 0 || size.window != 0)
            fail_msg("%s", sentences[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_a_conversation_that_is_too_long),
        cmocka_unit_test(test_what_is_not_too_long_says_nothing_of_a_window),
        cmocka_unit_test(test_what_headers_say),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_long_sentences_are_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
