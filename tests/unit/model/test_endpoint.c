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
#include "schemas/message/buf.h"

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
    { "a key file that is not there",
      "{\"a\":{\"url\":\"http://x\",\"key_file\":\"/nowhere/key\"}}",
      "/nowhere/key: No such file" },
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
        cmocka_unit_test(test_a_file_that_is_missing),
        cmocka_unit_test(test_a_good_file),
        cmocka_unit_test(test_an_endpoint_outlives_its_table),
        cmocka_unit_test(test_the_usual_variables),
        cmocka_unit_test(test_the_usual_variables_beside_a_file),
        cmocka_unit_test(test_nothing_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
