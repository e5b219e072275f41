/* test_endpoint.c - the table of model endpoints, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "consumer/model/endpoint.h"
#include "consumer/model/model.h"
#include "schemas/message/buf.h"
#include "tests/unit/model/replies.h"

/* Writes text to a new file; free() the path, which unlinks nothing. */
static char *write_file(const char *text)
{
    char *path = strdup("/tmp/quern-endpoint-XXXXXX");
    int fd = mkstemp(path);
    size_t len = strlen(text);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
    return path;
}

static bool load(struct endpoints *endpoints, const char *text, struct err *err)
{
    CLEANUP(cleanup_free) char *path = write_file(text);
    bool loaded = endpoints_load(
        endpoints, &(struct endpoint_source){ .file = path }, err);

    unlink(path);
    return loaded;
}

static const struct row {
    const char *name;
    const char *file;
    const char *complaint; /* part of the sentence */
} bad_rows[] = {
    { "no JSON", "{", ":1: " },
    { "a key that was not closed", "{\"a\":{\"key\":\"s3cret\n",
      ":1: unexpected "
      "newline" },
    { "a list", "[]", "must be an object {name" },
    { "an entry that is no object", "{\"a\":1}", "a: must be an object" },
    { "no url", "{\"a\":{}}", "a: url is missing" },
    { "another scheme", "{\"a\":{\"url\":\"ftp://x\"}}",
      "must start with http" },
    { "a url that is no text", "{\"a\":{\"url\":1}}", "url: must be a text" },
    { "an unknown member", "{\"a\":{\"url\":\"http://x\",\"ur1\":\"y\"}}",
      "ur1: unknown" },
    { "a way with history that is none",
      "{\"a\":{\"url\":\"http://x\",\"history\":\"forget\"}}",
      "a: history: must be drop or summarise" },
    { "a history that is no text",
      "{\"a\":{\"url\":\"http://x\",\"history\":true}}",
      "a: history: must be drop or summarise" },
    { "a dialect that is none",
      "{\"a\":{\"url\":\"http://x\",\"dialect\":\"latin\"}}",
      "dialect: must be chat, anthropic or responses" },
    { "a name twice", "{\"a\":{\"url\":\"http://x\"},\"a\":{}}",
      "duplicate object key" },
    { "a wait of nothing", "{\"a\":{\"url\":\"http://x\",\"idle_ms\":0}}",
      "idle_ms: must be" },
    { "parameters that are no object",
      "{\"a\":{\"url\":\"http://x\",\"parameters\":[]}}",
      "parameters: must be" },
    { "an anchor", "{\"a\":{\"url\":\"http://x/#a\"}}", "must not have a #" },
    { "a query that is no object",
      "{\"a\":{\"url\":\"http://x\",\"query\":\"a=1\"}}",
      "query: must be an object" },
    { "a query of a number",
      "{\"a\":{\"url\":\"http://x\",\"query\":{\"a\":1}}}",
      "query: must be an object" },
    { "a header that is none",
      "{\"a\":{\"url\":\"http://x\",\"headers\":{\"a b\":\"s3cret\"}}}",
      "headers: " },
    { "a header of what the environment lacks",
      "{\"a\":{\"url\":\"http://x\",\"headers\":{\"a\":\"${T_NO}\"}}}",
      "the environment has no T_NO" },
    { "a key file that is not there",
      "{\"a\":{\"url\":\"http://x\",\"key_file\":\"/nowhere/key\"}}",
      "/nowhere/key: No such file" },
    { "a key and a key file",
      "{\"a\":{\"url\":\"http://x\",\"key\":\"s3cret\",\"key_file\":\"/dev/"
      "null\"}}",
      "a: key and key_file must not stand together" },
    { "a key file and a key",
      "{\"a\":{\"key_file\":\"/nowhere/"
      "key\",\"key\":\"s3cret\",\"url\":\"http://x\"}}",
      "a: key and key_file must not stand together" },
};

static void test_dialects(void **state)
{
    struct endpoints endpoints = { 0 };
    struct err err;

    (void)state;
    assert_true(load(&endpoints,
                     "{\"a\":{\"url\":\"http://a\"},\"b\":{\"url\":"
                     "\"http://b\",\"dialect\":\"anthropic\"},\"c\":{"
                     "\"url\":\"http://c\",\"dialect\":\"responses\"}}",
                     &err));
    assert_ptr_equal(endpoints.items[0]->dialect, &dialect_chat);
    assert_ptr_equal(endpoints.items[1]->dialect, &dialect_anthropic);
    assert_ptr_equal(endpoints.items[2]->dialect, &dialect_responses);
    endpoints_finish(&endpoints);
}

static void test_bad_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(*bad_rows); i++) {
        struct endpoints endpoints = { 0 };
        struct err err = { 0 };

        if (load(&endpoints, bad_rows[i].file, &err))
            fail_msg("%s: loaded", bad_rows[i].name);
        assert_string_equal(err.code, "bad_setting");
        if (!strstr(err.text, bad_rows[i].complaint))
            fail_msg("%s: %s", bad_rows[i].name, err.text);
        if (strstr(err.text, "s3cret"))
            fail_msg("%s: tells a key", bad_rows[i].name);
        assert_int_equal(endpoints.count, 0);
    }
}

/* Where a request goes, and with which headers: Azure's classic form too. */
static void test_requests_go_where_the_operator_says(void **state)
{
    static const struct {
        const char *members, *path, *url, *headers;
    } rows[] = {
        { "'url':'https://a/v1'", "/chat/completions",
          "https://a/v1/chat/completions", "" },
        { "'url':'https://a/d/gpt?api-version=1'", "/chat/completions",
          "https://a/d/gpt/chat/completions?api-version=1", "" },
        { "'url':'https://a/d/gpt/chat/completions?api-version=1'",
          "/chat/completions", "https://a/d/gpt/chat/completions?api-version=1",
          "" },
        { "'url':'https://a/v1/chat/completions/'", "/chat/completions",
          "https://a/v1/chat/completions", "" },
        { "'dialect':'responses','url':'https://a/v1/responses?'",
          "/responses/r?include=x", "https://a/v1/responses/r?include=x", "" },
        { "'url':'https://a','query':{'v':'1 2','k&':'ä'}", "/responses/r?x",
          "https://a/responses/r?x&v=1%202&k%26=%C3%A4", "" },
        { "'url':'https://a?b=1','query':{'v':'2'}", "/x",
          "https://a/x?b=1&v=2", "" },
        { "'url':'https://a','key':'s3cret','headers':{'api-key':'${T_KEY}',"
          "'X-Team':'é'}",
          "/x", "https://a/x",
          "api-key: from the environment|X-Team: é|Authorization: Bearer "
          "s3cret|" },
        { "'url':'https://a','key':'s3cret','headers':{'authorization':'own'}",
          "/x", "https://a/x", "authorization: own|" },
        { "'dialect':'anthropic','url':'https://a','headers':{"
          "'Anthropic-Version':'2024-01-01'}",
          "/x", "https://a/x", "Anthropic-Version: 2024-01-01|" },
    };

    (void)state;
    setenv("T_KEY", "from the environment", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(cleanup_free) char *members = json_of(rows[i].members);
        CLEANUP(cleanup_free) char *file = NULL;
        CLEANUP(model_head_finish) struct model_head head = { 0 };
        CLEANUP(buf_finish) struct buf lines = { .max = 4096 };
        struct endpoints endpoints = { 0 };
        struct err err;

        assert_true(asprintf(&file, "{\"a\":{%s}}", members) > 0);
        if (!load(&endpoints, file, &err))
            fail_msg("%s: %s", rows[i].members, err.text);
        model_head_make(&head, endpoints.items[0], rows[i].path);
        for (size_t line = 2; head.lines[line]; line++)
            buf_printf(&lines, "%s|", head.lines[line]);
        assert_string_equal(head.url, rows[i].url);
        if (!view_is(buf_view(&lines), rows[i].headers))
            fail_msg("%s: %.*s", rows[i].members, VIEW_ARG(buf_view(&lines)));
        endpoints_finish(&endpoints);
    }
}

static void test_what_is_secret_is_starred_out(void **state)
{
    char text[] =
        "no such key: s3cret, nor environment, nor k/4567 or k%2F4567";
    struct endpoints endpoints = { 0 };
    struct err err;

    (void)state;
    setenv("T_KEY", "from the environment", 1);
    assert_true(load(&endpoints,
                     "{\"a\":{\"url\":\"http://a\",\"key\":\"s3cret\","
                     "\"query\":{\"key\":\"k/4567\",\"page\":\"such\"},"
                     "\"headers\":{\"api-key\":\"${T_KEY}\"}}}",
                     &err));
    endpoint_hide(endpoints.items[0], text);
    assert_string_equal(text, "no such key: ******, nor ***********, nor "
                              "****** or ********");
    endpoints_finish(&endpoints);
}

static void test_a_file_that_is_missing(void **state)
{
    struct endpoints endpoints = { 0 };
    struct err err = { 0 };

    (void)state;
    assert_false(endpoints_load(
        &endpoints, &(struct endpoint_source){ .file = "/nowhere" }, &err));
    assert_non_null(strstr(err.text, "/nowhere"));
}

static void test_a_good_file(void **state)
{
    CLEANUP(cleanup_free) char *key_file = write_file("secret\n");
    CLEANUP(cleanup_free) char *text = NULL;
    struct endpoints endpoints = { 0 };
    struct model_endpoint *found;
    char *names;
    struct err err = { 0 };

    (void)state;
    assert_true(asprintf(&text,
                         "{\"a\":{\"url\":\"http://x/v1/\",\"model\":\"m\","
                         "\"key_file\":\"%s\",\"idle_ms\":7,"
                         "\"parameters\":{\"temperature\":0}},"
                         "\"default\":{\"url\":\"https://y\"}}",
                         key_file) > 0);
    if (!load(&endpoints, text, &err))
        fail_msg("%s", err.text);
    unlink(key_file);

    found = endpoints_take(&endpoints, VIEW("a"), &err);
    assert_string_equal(found->url, "http://x/v1");
    assert_string_equal(found->model, "m");
    assert_string_equal(found->key, "secret");
    assert_int_equal(found->idle_ms, 7);
    assert_int_equal(json_object_size(found->parameters), 1);
    endpoint_free(found);

    found = endpoints_take(&endpoints, VIEW(""), &err);
    assert_string_equal(found->name, "default");
    assert_string_equal(found->model, "default");
    assert_null(found->key);
    endpoint_free(found);

    found = endpoints_take(&endpoints, VIEW("m"), &err);
    assert_string_equal(found->name, "a");
    endpoint_free(found);

    names = endpoints_names(&endpoints);
    assert_string_equal(names, "[\"default\",\"a\",\"m\"]");
    free(names);

    assert_null(endpoints_take(&endpoints, VIEW("b"), &err));
    assert_string_equal(err.code, "unknown_model");
    assert_string_equal(err.text,
                        "model b is not configured; there are default, a");
    endpoints_finish(&endpoints);
}

static void test_an_endpoint_outlives_its_table(void **state)
{
    struct endpoints endpoints = { 0 };
    struct endpoint_source source = { .base_url = "http://x" };
    struct model_endpoint *old;
    struct err err = { 0 };

    (void)state;
    assert_true(endpoints_load(&endpoints, &source, &err));
    old = endpoints_take(&endpoints, VIEW("default"), &err);
    source.base_url = "http://y";
    assert_true(endpoints_load(&endpoints, &source, &err));
    assert_string_equal(old->url, "http://x");
    assert_string_equal(endpoints.items[0]->url, "http://y");
    endpoint_free(old);

    source.base_url = "y";
    assert_false(endpoints_load(&endpoints, &source, &err));
    assert_string_equal(endpoints.items[0]->url, "http://y");
    endpoints_finish(&endpoints);
}

static void test_the_usual_variables(void **state)
{
    struct endpoints endpoints = { 0 };
    struct endpoint_source source = { .key = "k", .model = "m" };
    struct err err = { 0 };

    (void)state;
    assert_true(endpoints_load(&endpoints, &source, &err));
    assert_string_equal(endpoints.items[0]->url, "https://api.openai.com/v1");
    assert_string_equal(endpoints.items[0]->model, "m");
    source.base_url = "https://a/d/gpt/chat/completions?api-version=1";
    assert_true(endpoints_load(&endpoints, &source, &err));
    assert_string_equal(endpoints.items[0]->url, "https://a/d/gpt");
    assert_string_equal(endpoints.items[0]->query, "api-version=1");
    endpoints_finish(&endpoints);
}

/* The file's entries keep their place; the variables fill the one left. */
static void test_the_usual_variables_beside_a_file(void **state)
{
    static const struct {
        const char *file, *url;
        size_t count;
    } rows[] = {
        { "{\"a\":{\"url\":\"http://a\"}}", "http://env", 2 },
        { "{\"default\":{\"url\":\"http://file\"}}", "http://file", 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(cleanup_free) char *path = write_file(rows[i].file);
        struct endpoint_source source = { .file = path,
                                          .base_url = "http://env" };
        struct endpoints endpoints = { 0 };
        struct err err = { 0 };

        assert_true(endpoints_load(&endpoints, &source, &err));
        unlink(path);
        assert_string_equal(endpoints.items[0]->url, rows[i].url);
        assert_int_equal(endpoints.count, rows[i].count);
        endpoints_finish(&endpoints);
    }
}

static void test_nothing_set_up(void **state)
{
    struct endpoints endpoints = { 0 };
    struct err err = { 0 };

    (void)state;
    assert_true(
        endpoints_load(&endpoints, &(struct endpoint_source){ 0 }, &err));
    assert_null(endpoints_take(&endpoints, VIEW(""), &err));
    assert_string_equal(err.text, "no model is configured");
    endpoints_finish(&endpoints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_requests_go_where_the_operator_says),
        cmocka_unit_test(test_what_is_secret_is_starred_out),
        cmocka_unit_test(test_a_file_that_is_missing),
        cmocka_unit_test(test_a_good_file),
        cmocka_unit_test(test_an_endpoint_outlives_its_table),
        cmocka_unit_test(test_the_usual_variables),
        cmocka_unit_test(test_the_usual_variables_beside_a_file),
        cmocka_unit_test(test_nothing_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
