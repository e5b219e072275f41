/* test_chat_stream.c - chunks and objects of a chat completion, from the wire
 * events and objects of a response: golden sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/chat/chat_stream.h"
#include "schemas/message/buf.h"

#define JOB "019aa5c8-1b2c-7000-8000-000000000000"
#define ID "chatcmpl-019aa5c81b2c70008000000000000000"

/* What changes: of a chunk its choice's delta and end, and its usage. */
static void on_chunk(void *owner, const json_t *json)
{
    struct buf *seen = owner;
    const json_t *choice = json_array_get(json_object_get(json, "choices"), 0);
    const char *end =
        json_string_value(json_object_get(choice, "finish_reason"));
    const json_t *shown = choice ? json_object_get(choice, "delta")
                                 : json_object_get(json, "usage");
    char *text;

    if (json_object_get(json, "error")) {
        shown = json;
    } else {
        assert_string_equal(json_string_value(json_object_get(json, "id")), ID);
        assert_string_equal(json_string_value(json_object_get(json, "model")),
                            "m");
    }
    text = json_dumps(shown, JSON_COMPACT | JSON_SORT_KEYS);
    assert_non_null(text);
    buf_printf(seen, "%s%s%s\n", text, end ? " " : "", end ? end : "");
    free(text);
}

#define CREATED                                                                \
    "{\"type\":\"response.created\",\"response\":{\"created_at\":7,"           \
    "\"model\":\"m\"}}\n"
#define TEXT(item, text)                                                       \
    "{\"type\":\"response.output_text.delta\",\"item_id\":\"" item             \
    "\",\"delta\":\"" text "\"}\n"
#define CALL                                                                   \
    "{\"type\":\"response.output_item.done\",\"item\":{\"type\":"              \
    "\"function_call\",\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":"       \
    "\"{}\"}}\n"
#define CODE                                                                   \
    "{\"type\":\"response.output_item.done\",\"item\":{\"type\":"              \
    "\"code_interpreter_call\",\"code\":\"1\"}}\n"
#define DRAWN                                                                  \
    "{\"type\":\"response.output_item.done\",\"item\":{\"type\":"              \
    "\"code_interpreter_call\",\"id\":\"ci_1\",\"outputs\":[{\"type\":"        \
    "\"image\",\"name\":\"1.png\",\"url\":\"u1\"},{\"type\":\"image\","        \
    "\"name\":\"2.png\",\"url\":\"u2\"}]}}\n"
#define NO_USAGE                                                               \
    "{\"completion_tokens\":0,\"completion_tokens_details\":{"                 \
    "\"reasoning_tokens\":0},\"prompt_tokens\":0,"                             \
    "\"prompt_tokens_details\":{\"cached_tokens\":0},"                         \
    "\"total_tokens\":0}\n"
#define ROLE "{\"content\":\"\",\"role\":\"assistant\"}\n"

static const struct {
    const char *events, *chunks;
} golden[] = {
    { CREATED TEXT("a", "Hi") TEXT("a", "") TEXT("a", "!") CODE TEXT(
          "b",
          "Bye") "{\"type\":\"response.completed\",\"response\":{\"status\":"
                 "\"completed\",\"output\":[],\"usage\":{\"input_tokens\":3,"
                 "\"output_tokens\":4,\"total_tokens\":7}}}\n",
      ROLE "{\"content\":\"Hi\"}\n{\"content\":\"!\"}\n"
           "{\"content\":\"\\n\\n\"}\n{\"content\":\"Bye\"}\n{} stop\n"
           "{\"completion_tokens\":4,\"completion_tokens_details\":{"
           "\"reasoning_tokens\":0},\"prompt_tokens\":3,"
           "\"prompt_tokens_details\":{\"cached_tokens\":0},"
           "\"total_tokens\":7}\n" },
    { CREATED CALL CALL
      "{\"type\":\"response.completed\",\"response\":{\"status\":"
      "\"completed\",\"output\":[{\"type\":\"function_call\"}],"
      "\"usage\":null}}\n",
      ROLE "{\"tool_calls\":[{\"function\":{\"arguments\":\"{}\",\"name\":"
           "\"f\"},\"id\":\"c1\",\"index\":0,\"type\":\"function\"}]}\n"
           "{\"tool_calls\":[{\"function\":{\"arguments\":\"{}\",\"name\":"
           "\"f\"},\"id\":\"c1\",\"index\":1,\"type\":\"function\"}]}\n"
           "{} tool_calls\n" NO_USAGE },
    /* Images where their code ran, files behind the text, each once. */
    { CREATED TEXT("a", "Look:")
          DRAWN TEXT("b", "with files") "{\"type\":\"response.completed\","
                                        "\"response\":{\"status\":"
                                        "\"completed\",\"output\":[]}}\n",
      ROLE "{\"content\":\"Look:\"}\n{\"content\":\"\\n\\n\"}\n"
           "{\"content\":\"![1.png](u1)\\n\\n![2.png](u2)\"}\n"
           "{\"content\":\"\\n\\n\"}\n{\"content\":\"with files\"}\n"
           "{\"content\":\"\\n\\n\"}\n"
           "{\"content\":\"[a](u/f/a)\\n\\n[b](u/f/b)\"}\n{} stop\n" NO_USAGE },
    { CREATED "{\"type\":\"response.failed\",\"response\":{\"status\":"
              "\"failed\",\"error\":{\"code\":\"invalid_prompt\",\"message\":"
              "\"no\"}}}\n",
      ROLE "{\"error\":{\"code\":\"invalid_prompt\",\"message\":\"no\","
           "\"param\":null,\"type\":\"invalid_request_error\"}}\n" },
    { CREATED "{\"type\":\"response.incomplete\",\"response\":{\"status\":"
              "\"cancelled\"}}\n",
      ROLE "{\"error\":{\"code\":\"cancelled\",\"message\":\"the job was "
           "cancelled\",\"param\":null,\"type\":\"server_error\"}}\n" },
};

static char *name_url(const void *owner, enum wire_link_kind kind,
                      struct view name)
{
    CLEANUP(buf_finish) struct buf url = { .max = 256 };

    buf_printf(&url, "%s/%s/%.*s", (const char *)owner,
               kind == WIRE_LINK_IMAGE ? "i" : "f", VIEW_ARG(name));
    return view_dup(buf_view(&url));
}

static void fold(const char *events, struct buf *seen)
{
    const struct wire_job job = { .id = VIEW(JOB), .links = { name_url, "u" } };
    struct file_ref files[] = { { .name = VIEW("a"), .blob = VIEW("x") },
                                { .name = VIEW("lost") },
                                { .name = VIEW("b"), .blob = VIEW("x") } };
    const struct result result = { .files = { files, 3 } };
    struct chat_stream stream = {
        .with_usage = true, .job = &job, .sink = on_chunk, .owner = seen
    };

    if (strstr(events, "with files"))
        stream.result = &result;

    while (*events) {
        size_t length = strcspn(events, "\n");
        json_t *json = json_loadb(events, length, 0, NULL);

        assert_non_null(json);
        chat_stream_event(
            &stream, json_string_value(json_object_get(json, "type")), json);
        json_decref(json);
        events += length + 1;
    }
    chat_stream_finish(&stream);
}

static void test_golden_sequences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
        CLEANUP(buf_finish) struct buf seen = { .max = 1 << 16 };

        fold(golden[i].events, &seen);
        buf_append(&seen, "", 1);
        assert_string_equal(seen.data, golden[i].chunks);
    }
}

static void expect_reason(const char *text, const char *reason)
{
    json_t *response = json_loads(text, 0, NULL);

    assert_non_null(response);
    assert_string_equal(chat_finish_reason(response), reason);
    json_decref(response);
}

static void test_how_it_ends(void **state)
{
    (void)state;
    expect_reason("{\"status\":\"completed\",\"output\":[]}", "stop");
    expect_reason("{\"status\":\"completed\",\"output\":[{\"type\":"
                  "\"function_call\"}]}",
                  "tool_calls");
    expect_reason("{\"status\":\"incomplete\",\"incomplete_details\":{"
                  "\"reason\":\"max_output_tokens\"}}",
                  "length");
    expect_reason("{\"status\":\"incomplete\",\"incomplete_details\":{"
                  "\"reason\":\"content_filter\"}}",
                  "content_filter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_sequences),
        cmocka_unit_test(test_how_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
