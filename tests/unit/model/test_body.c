/* test_body.c - the bodies that endpoints get, and what they teach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/model.h"
#include "consumer/model/reply_error.h"

static char name[] = "m";

static const struct row {
    const char *name;
    const char *message;
    const char *param;
    unsigned before, after; /* quirks */
} rows[] = {
    { "OpenAI: a reasoning model",
      "Unsupported parameter: 'max_tokens' is not supported with this model. "
      "Use 'max_completion_tokens' instead.",
      "max_tokens", 0, QUIRK_MAX_COMPLETION_TOKENS },
    { "neither of the two",
      "Unrecognized request argument: max_completion_tokens", "",
      QUIRK_MAX_COMPLETION_TOKENS,
      QUIRK_MAX_COMPLETION_TOKENS | QUIRK_NO_MAX_TOKENS },
    { "Mistral: the body repeats the request",
      "{\"detail\":[{\"loc\":[\"body\",\"stream_options\"],\"msg\":\"Extra "
      "inputs are not permitted\"}]}",
      "", 0, QUIRK_NO_STREAM_OPTIONS },
    { "OpenAI: no streaming",
      "Unsupported value: 'stream' does not support true with this model.",
      "stream", 0, QUIRK_NO_STREAM },
    { "stream_options is not stream", "Unknown parameter: 'stream_options'.",
      "", 0, QUIRK_NO_STREAM_OPTIONS },
    { "tool_choice", "tool_choice is not supported", "", 0,
      QUIRK_NO_TOOL_CHOICE },
    { "Ollama: null", "invalid message content type: <nil>", "", 0,
      QUIRK_NO_NULL_CONTENT },
    { "Bedrock: empty", "messages: text content blocks must be non-empty", "",
      0, QUIRK_NO_EMPTY_CONTENT },
    { "a value out of bounds teaches nothing",
      "max_tokens is too large: 100000. This model supports at most 4096",
      "max_tokens", 0, 0 },
    { "a reasoning model takes no temperature",
      "Unsupported value: 'temperature' does not support 0.2 with this model. "
      "Only the default (1) value is supported.",
      "temperature", 0, QUIRK_NO_TEMPERATURE },
    { "another parameter teaches nothing",
      "Unsupported parameter: 'logit_bias'", "logit_bias", 0, 0 },
    { "what is known is no news", "Unknown parameter: 'stream_options'.", "",
      QUIRK_NO_STREAM_OPTIONS, QUIRK_NO_STREAM_OPTIONS },
};

static void test_lessons(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct model_endpoint endpoint = { .dialect = &dialect_chat,
                                           .quirks = rows[i].before };
        struct reply_error error = { 0 };
        bool news;

        strcpy(error.message, rows[i].message);
        strcpy(error.param, rows[i].param);
        news = reply_error_learn(&error, &endpoint);
        if (endpoint.quirks != rows[i].after ||
            news != (rows[i].before != rows[i].after))
            fail_msg("%s: %x", rows[i].name, endpoint.quirks);
    }
}

static void test_lessons_of_other_dialects(void **state)
{
    static const struct {
        const struct dialect *dialect;
        const char *message, *param;
        unsigned quirk;
    } lessons[] = {
        { &dialect_anthropic,
          "system.0.cache_control: Extra inputs are not permitted", "",
          QUIRK_NO_CACHE },
        { &dialect_anthropic, "max_tokens: Unknown parameter", "", 0 },
        { &dialect_responses,
          "Encrypted content is not supported with this model.", "include",
          QUIRK_NO_ENCRYPTED },
        { &dialect_responses, "Unsupported parameter: max_output_tokens", "",
          QUIRK_NO_MAX_TOKENS },
        { &dialect_responses, "Unknown parameter: 'stream_options'", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lessons) / sizeof(lessons[0]); i++) {
        struct model_endpoint endpoint = { .dialect = lessons[i].dialect };
        struct reply_error error = { 0 };

        strcpy(error.message, lessons[i].message);
        strcpy(error.param, lessons[i].param);
        reply_error_learn(&error, &endpoint);
        if (endpoint.quirks != lessons[i].quirk)
            fail_msg("%s: %x", lessons[i].message, endpoint.quirks);
    }
}

static json_t *make(struct model_endpoint *endpoint,
                    const struct model_request *request, char hash[65])
{
    CLEANUP(buf_finish) struct buf body = { 0 };
    struct err err;

    assert_true(model_body_make(&body, hash, endpoint, request, &err));
    return json_loadb(body.data, body.len, 0, NULL);
}

static void check_body(unsigned quirks, const char *want)
{
    struct model_endpoint endpoint = { .dialect = &dialect_chat,
                                       .model = name,
                                       .quirks = quirks };
    json_t *messages = json_loads("[{\"role\":\"a\",\"content\":null},"
                                  "{\"role\":\"b\",\"content\":\"\"}]",
                                  0, NULL);
    json_t *tools = json_loads("[{\"type\":\"function\"}]", 0, NULL);
    struct model_request request = { .messages = messages,
                                     .tools = tools,
                                     .max_tokens = 9 };
    json_t *wanted = json_loads(want, 0, NULL);
    char hash[65];
    json_t *body = make(&endpoint, &request, hash);

    if (!json_equal(body, wanted))
        fail_msg("quirks %x: %s", quirks, json_dumps(body, 0));
    json_decref(body);
    json_decref(wanted);
    json_decref(tools);
    json_decref(messages);
}

static void test_bodies(void **state)
{
    (void)state;
    check_body(0, "{\"model\":\"m\",\"messages\":[{\"role\":\"a\",\"content\":"
                  "null},{\"role\":\"b\",\"content\":\"\"}],\"tools\":[{"
                  "\"type\":\"function\"}],\"tool_choice\":\"auto\","
                  "\"max_tokens\":9,\"stream\":true,\"stream_options\":{"
                  "\"include_usage\":true}}");
    check_body(QUIRK_NO_STREAM | QUIRK_NO_TOOL_CHOICE |
                   QUIRK_MAX_COMPLETION_TOKENS | QUIRK_NO_NULL_CONTENT,
               "{\"model\":\"m\",\"messages\":[{\"role\":\"a\",\"content\":"
               "\"\"},{\"role\":\"b\",\"content\":\"\"}],\"tools\":[{"
               "\"type\":\"function\"}],\"max_completion_tokens\":9}");
    check_body(QUIRK_NO_STREAM_OPTIONS | QUIRK_NO_MAX_TOKENS |
                   QUIRK_NO_EMPTY_CONTENT,
               "{\"model\":\"m\",\"messages\":[{\"role\":\"a\",\"content\":"
               "null},{\"role\":\"b\",\"content\":null}],\"tools\":[{"
               "\"type\":\"function\"}],\"tool_choice\":\"auto\","
               "\"stream\":true}");
}

/* What is said of pictures in refusals that were seen. */
static const struct {
    unsigned status;
    const char *message;
    bool blind, for_good;
} refusals[] = {
    { 400, "image_url is only supported by certain models.", true, true },
    { 404, "No endpoints found that support image input", true, true },
    { 400, "This model does not support image inputs", true, true },
    { 422, "unknown variant `image_url`, expected `text`", true, true },
    { 500,
      "image input is not supported - hint: if this is unexpected, you "
      "may need to provide the mmproj",
      true, true },
    { 400, "Multimodal data provided, but model does not support it", true,
      true },
    { 400,
      "messages.2.content.1.image.source: image exceeds 5 MB maximum: "
      "6 bytes > 5 bytes; see what is supported",
      true, false },
    { 400, "Could not process image", true, false },
    { 400, "Invalid image data", true, false },
    { 400,
      "You uploaded an unsupported image. Please make sure your image "
      "has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
      true, false },
    { 400,
      "The image data you provided does not represent a valid image. "
      "Please check your input and try again with one of the following "
      "image formats: ['image/jpeg', 'image/png', 'image/gif', "
      "'image/webp'].",
      true, false },
    { 400,
      "messages.0.content.0.image.source.base64.media_type: Input should "
      "be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
      true, false },
    { 400, "Unsupported MIME type: image/bmp", true, false },
    { 400, "This model does not support image/heic", true, false },
    { 400, "This model does not support images larger than 8000 pixels", true,
      false },
    { 429, "Limit 50 images per minute; see the models that support more",
      false, false },
    { 429, "Your plan does not support image input at this rate", false,
      false },
    { 403, "Your key does not support image input", false, false },
    { 503, "The image workers are busy", false, false },
    { 400, "This model's maximum context length is 8192 tokens", false, false },
    { 400, "Unsupported parameter: 'tool_choice'", false, false },
    { 400, "At most 0 image(s) may be provided in one request.", true, true },
};

static void test_pictures_that_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct model_endpoint endpoint = { .model = name };
        struct reply_error error = { 0 };

        snprintf(error.message, sizeof(error.message), "%s",
                 refusals[i].message);
        if (reply_error_learn_blind(&error, refusals[i].status, &endpoint) !=
                refusals[i].blind ||
            (endpoint.quirks == QUIRK_BLIND) != refusals[i].for_good)
            fail_msg("%s", refusals[i].message);
    }
}

static void test_parameters_of_the_operator(void **state)
{
    json_t *parameters = json_loads("{\"temperature\":0,\"max_tokens\":5,"
                                    "\"model\":\"other\"}",
                                    0, NULL);
    struct model_endpoint endpoint = { .dialect = &dialect_chat,
                                       .model = name,
                                       .parameters = parameters };
    json_t *messages = json_array();
    struct model_request request = { .messages = messages };
    char first[65], second[65];
    json_t *body = make(&endpoint, &request, first);

    (void)state;
    assert_string_equal(json_string_value(json_object_get(body, "model")), "m");
    assert_int_equal(json_integer_value(json_object_get(body, "max_tokens")),
                     5);
    assert_non_null(json_object_get(body, "temperature"));
    assert_null(json_object_get(body, "tools"));
    json_decref(body);

    request.max_tokens = 3; /* the job's own bound counts */
    body = make(&endpoint, &request, second);
    assert_int_equal(json_integer_value(json_object_get(body, "max_tokens")),
                     3);
    assert_string_not_equal(first, second);
    json_decref(body);
    json_decref(messages);
    json_decref(parameters);
}

/* A last answer: the tools are shown, as some endpoints want it, not offered.
 */
static void test_a_last_answer_is_asked_for_without_tools(void **state)
{
    static const struct {
        unsigned quirks;
        const char *choice; /* NULL: no tools at all */
    } choices[] = { { 0, "none" }, { QUIRK_NO_TOOL_CHOICE, NULL } };
    json_t *messages = json_array();
    json_t *tools = json_loads("[{\"type\":\"function\"}]", 0, NULL);
    struct model_request request = { .messages = messages,
                                     .tools = tools,
                                     .last = true };

    (void)state;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        struct model_endpoint endpoint = { .dialect = &dialect_chat,
                                           .model = name,
                                           .quirks = choices[i].quirks };
        char hash[65];
        json_t *body = make(&endpoint, &request, hash);
        const char *choice =
            json_string_value(json_object_get(body, "tool_choice"));

        assert_int_equal(json_object_get(body, "tools") != NULL,
                         choices[i].choice != NULL);
        assert_int_equal(choice != NULL, choices[i].choice != NULL);
        if (choice)
            assert_string_equal(choice, choices[i].choice);
        json_decref(body);
    }
    json_decref(messages);
    json_decref(tools);
}

static void test_how_many_tokens_a_reply_may_have(void **state)
{
    json_t *parameters = json_loads("{\"max_completion_tokens\":5}", 0, NULL);
    struct model_endpoint endpoint = { .dialect = &dialect_chat,
                                       .model = name };
    struct model_request request = { 0 };

    (void)state;
    assert_int_equal(model_body_max_tokens(&endpoint, &request), 0);
    endpoint.parameters = parameters;
    assert_int_equal(model_body_max_tokens(&endpoint, &request), 5);
    request.max_tokens = 3;
    assert_int_equal(model_body_max_tokens(&endpoint, &request), 3);
    endpoint.quirks = QUIRK_NO_MAX_TOKENS; /* the job's is left out then */
    assert_int_equal(model_body_max_tokens(&endpoint, &request), 5);
    json_decref(parameters);
}

/* The hash is in the journal: it must not depend on who writes the body. */
static void test_the_same_request_has_the_same_hash(void **state)
{
    struct model_endpoint endpoint = { .dialect = &dialect_chat,
                                       .model = name };
    json_t *messages =
        json_loads("[{\"role\":\"user\",\"content\":\"\u00e9\"}]", 0, NULL);
    struct model_request request = { .messages = messages };
    char hash[65];

    (void)state;
    json_decref(make(&endpoint, &request, hash));
    assert_string_equal(
        hash,
        "181303c2f32fbdf36da9ac330c085883ef067f35f6f63390ae34b8d636ee224b");
    json_decref(messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lessons),
        cmocka_unit_test(test_lessons_of_other_dialects),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_pictures_that_are_refused),
        cmocka_unit_test(test_parameters_of_the_operator),
        cmocka_unit_test(test_a_last_answer_is_asked_for_without_tools),
        cmocka_unit_test(test_how_many_tokens_a_reply_may_have),
        cmocka_unit_test(test_the_same_request_has_the_same_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
