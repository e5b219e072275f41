/* Messages as the conventions have them: their parts, and bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/trace/content.h"
#include "consumer/trace/span.h"

/* Reads what was written, and writes it again with sorted members. */
static char *sorted(const struct buf *out)
{
    json_t *read = json_loadb(out->data, out->len, 0, NULL);
    assert_non_null(read);
    char *text = json_dumps(read, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(read);
    return text;
}

static void messages_become_parts(void **state)
{
    json_t *messages = json_pack(
        "[{s:s, s:[{s:s, s:s}, {s:s, s:{s:s}}]}, {s:s, s:n, s:[{s:s, s:{s:s, "
        "s:s}}]}, {s:s, s:s, s:s}, i]",
        "role", "user", "content", "type", "text", "text", "look", "type",
        "image_url", "image_url", "url", "data:...", "role", "assistant",
        "content", "tool_calls", "id", "c", "function", "name", "f",
        "arguments", "{}", "role", "tool", "tool_call_id", "c", "content", "7",
        5);
    (void)state;
    CLEANUP(buf_finish) struct buf out;
    content_write_messages(&out, messages);
    CLEANUP(cleanup_free) char *text = sorted(&out);
    assert_string_equal(
        text, "[{\"parts\":[{\"content\":\"look\",\"type\":\"text\"},"
              "{\"type\":\"image_url\"}],\"role\":\"user\"},"
              "{\"parts\":[{\"arguments\":\"{}\",\"id\":\"c\",\"name\":\"f\","
              "\"type\":\"tool_call\"}],\"role\":\"assistant\"},"
              "{\"parts\":[{\"id\":\"c\",\"response\":\"7\",\"type\":"
              "\"tool_call_response\"}],\"role\":\"tool\"},"
              "{\"parts\":[],\"role\":\"\"}]");
    json_decref(messages);
}

static void only_the_newest_fit(void **state)
{
    enum { MESSAGES = 100, LEN = 5000 };
    char *text = malloc(LEN + 1);
    json_t *messages = json_array();
    (void)state;
    memset(text, 'x', LEN);
    text[LEN] = '\0';
    for (int i = 0; i < MESSAGES; i++)
        json_array_append_new(messages,
                              json_pack("{s:s, s:s}", "role",
                                        i + 1 < MESSAGES ? "user" : "last",
                                        "content", text));
    CLEANUP(buf_finish) struct buf out;
    content_write_messages(&out, messages);
    assert_true(out.len <= SPAN_CONTENT_BYTES);
    json_t *read = json_loadb(out.data, out.len, 0, NULL);
    size_t count = json_array_size(read);
    assert_in_range(count, 2, 4);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(read, count - 1), "role")),
                        "last");
    json_decref(read);
    json_decref(messages);
    free(text);
}

static void a_reply_says_why_it_ended(void **state)
{
    json_t *message =
        json_pack("{s:s, s:s}", "role", "assistant", "content", "42");
    (void)state;
    CLEANUP(buf_finish) struct buf out;
    content_write_reply(&out, message, VIEW("stop"));
    CLEANUP(cleanup_free) char *text = sorted(&out);
    assert_string_equal(text, "[{\"finish_reason\":\"stop\",\"parts\":[{"
                              "\"content\":\"42\",\"type\":\"text\"}],"
                              "\"role\":\"assistant\"}]");
    json_decref(message);
}

static void a_reply_that_is_too_long_is_json_all_the_same(void **state)
{
    enum { CALLS = 64, LEN = 3000 };
    char *text = malloc(LEN + 1);
    json_t *calls = json_array();
    (void)state;
    memset(text, 'x', LEN);
    text[LEN] = '\0';
    for (int i = 0; i < CALLS; i++)
        json_array_append_new(calls, json_pack("{s:s, s:{s:s, s:s}}", "id", "c",
                                               "function", "name", "f",
                                               "arguments", text));
    json_t *message =
        json_pack("{s:s, s:o}", "role", "assistant", "tool_calls", calls);
    CLEANUP(buf_finish) struct buf out;
    content_write_reply(&out, message, VIEW(""));
    CLEANUP(cleanup_free) char *written = sorted(&out);
    assert_true(strlen(written) <= SPAN_CONTENT_BYTES);
    json_decref(message);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_become_parts),
        cmocka_unit_test(only_the_newest_fit),
        cmocka_unit_test(a_reply_says_why_it_ended),
        cmocka_unit_test(a_reply_that_is_too_long_is_json_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
