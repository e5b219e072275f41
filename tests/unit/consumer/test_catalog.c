/* The operator's tools: what a file may say of them, what is told of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "consumer/tools/catalog.h"
#include "consumer/tools/http_tool.h"

static bool load(struct catalog *catalog, const char *text, struct err *err)
{
    char path[] = "/tmp/quern-tools-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    *catalog = (struct catalog){ .count = 0 };
    bool loaded = catalog_load(catalog, path, err);
    unlink(path);
    return loaded;
}

#define TOOL(members) "{\"t\": {\"url\": \"http://h/x\", " members "}}"
#define URL(url) "{\"t\": {\"url\": \"" url "\"}}"

/* What a file holds, and what is said of it. */
static const struct {
    const char *name, *file, *sentence;
} bad[] = {
    { "nothing", "", ":1: " },
    { "no JSON", "{\"t\": {,}}", ":1: " },
    { "a list", "[]", "must be an object {name: {url, parameters, ...}}" },
    { "a tool twice", "{\"t\": {}, \"t\": {}}", "duplicate object key" },
    { "a tool that is no object", "{\"t\": 1}", "t: must be an object" },
    { "a name of nothing", "{\"\": {}}", "is not a valid name of a function" },
    { "a name with a space", "{\"a b\": {}}",
      "a b: is not a valid name of a function: 1 to 64 of A-Z a-z 0-9 _ -" },
    { "a name that is a number", "{\"3d\": {}}",
      "3d: is not a valid name of a" },
    { "names that are one in Python",
      "{\"a-b\": {\"url\": \"http://h\"}, \"a_b\": {\"url\": \"http://h\"}}",
      "a_b: a tool before it is a_b to code, too" },
    { "no url", "{\"t\": {}}", "t: url is missing" },
    { "a url that is no text", "{\"t\": {\"url\": 7}}",
      "t: url: is 7, must be a text" },
    { "another scheme", URL("ftp://h/"),
      "t: url: must start with http:// or https://" },
    { "a file", URL("file:///etc/passwd"), "must start with http://" },
    { "no server", URL("http:///x"), "t: url: names no server" },
    { "an argument as server", URL("https://{host}/x"),
      "t: url: no argument may stand in the server's name" },
    { "an argument in the server", URL("https://api.{x}.example/"),
      "no argument may stand in" },
    { "an argument as port", URL("http://h:{port}/"), "no argument may" },
    { "an argument before the server", URL("http://{u}@h/x"), "no argument" },
    { "a fragment", URL("http://h/x#y"), "t: url: may have no # in it" },
    { "a space", URL("http://h/a b"), "t: url: has a byte in it that must be" },
    { "a line end", URL("http://h/\\r\\nX: y"), "url: has a byte in it" },
    { "an argument without end", URL("http://h/{id"),
      "t: url: { without its }" },
    { "an argument without name", URL("http://h/{}"),
      "url: there is no "
      "parameter {}" },
    { "an argument that is no parameter", URL("http://h/{id}"),
      "t: url: there is no parameter {id}" },
    { "an argument in two places",
      "{\"t\": {\"url\": \"http://h/{a}/{a}\", \"parameters\": "
      "{\"properties\": {\"a\": {}}}}}",
      "t: url: {a} stands there twice" },
    { "another method", TOOL("\"method\": \"PUT\""),
      "t: method: is \"PUT\", must be GET or POST" },
    { "a method that is no text", TOOL("\"method\": 1"), "method: is 1, must" },
    { "no time", TOOL("\"total_ms\": 0"),
      "t: total_ms: is 0, must be 1 to 600000" },
    { "too much time", TOOL("\"total_ms\": 600001"),
      "is 600001, must be 1 to" },
    { "half a byte", TOOL("\"max_bytes\": 1.5"), "max_bytes: is 1.5, must be" },
    { "too many bytes", TOOL("\"max_bytes\": 524289"),
      "max_bytes: is 524289, must be 1 to 524288" },
    { "time as a text", TOOL("\"total_ms\": \"9\""), "is \"9\", must be 1" },
    { "repeat as a number", TOOL("\"repeat\": 1"),
      "t: repeat: is 1, must be true or false" },
    { "a description that is no text", TOOL("\"description\": []"),
      "description: is [], must be a text" },
    { "an unknown member", TOOL("\"header\": {}"),
      "t: header: unknown; there are description, parameters, url, method, "
      "headers, sign, repeat, approve, total_ms, max_bytes" },
    { "an approval that is a word", TOOL("\"approve\": \"yes\""),
      "t: approve: is \"yes\", must be true or false" },
    { "headers in a list", TOOL("\"headers\": []"),
      "t: headers: must be an object of at most 16" },
    { "a header that is a number", TOOL("\"headers\": {\"X\": 1}"),
      "t: headers: X: must be a text" },
    { "a header without name", TOOL("\"headers\": {\"\": \"x\"}"),
      "t: headers: : is not a valid name of a header" },
    { "two headers in a name", TOOL("\"headers\": {\"A: b\\nC\": \"x\"}"),
      "is not a valid name of a header" },
    { "two headers in a text", TOOL("\"headers\": {\"A\": \"b\\rC: d\"}"),
      "t: headers: A: has a byte in it that no header may have" },
    { "a secret with two lines", TOOL("\"headers\": {\"A\": \"${TWO_LINES}\"}"),
      "t: headers: A: has a byte in it" },
    { "a secret that is not there",
      TOOL("\"headers\": {\"A\": \"${NOT_SET}\"}"),
      "t: headers: A: the environment has no NOT_SET" },
    { "a secret without name", TOOL("\"headers\": {\"A\": \"${}\"}"),
      "t: headers: A: the environment has no " },
    { "a secret without end", TOOL("\"headers\": {\"A\": \"${KEY\"}"),
      "t: headers: A: ${ without its }" },
    { "parameters in a list", TOOL("\"parameters\": []"),
      "t: parameters: is [], must be a JSON Schema" },
    { "parameters of another type",
      TOOL("\"parameters\": {\"type\": \"array\"}"),
      "t: parameters: type: is \"array\", must be object" },
    { "properties in a list", TOOL("\"parameters\": {\"properties\": []}"),
      "t: parameters: properties: is [], must be an object" },
    { "a property that is a text",
      TOOL("\"parameters\": {\"properties\": {\"a\": \"string\"}}"),
      "t: parameters: a: is \"string\", must be a JSON Schema" },
    { "required as a text", TOOL("\"parameters\": {\"required\": \"a\"}"),
      "t: parameters: required: is \"a\", must be a list of parameters" },
    { "required that are numbers", TOOL("\"parameters\": {\"required\": [1]}"),
      "required: is 1, must be a list of parameters" },
    { "a required one that there is not",
      TOOL("\"parameters\": {\"required\": [\"a\"]}"),
      "t: parameters: required: there is no parameter a" },
};

static void a_bad_file_is_refused_in_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct catalog catalog;
        struct err err = { .kind = ERR_NONE };
        if (load(&catalog, bad[i].file, &err))
            fail_msg("%s: taken", bad[i].name);
        if (strcmp(err.code, "bad_setting") != 0 ||
            !strstr(err.text, bad[i].sentence) ||
            !strstr(err.text, "/tmp/quern-tools-"))
            fail_msg("%s: %s: %s", bad[i].name, err.code, err.text);
        if (strstr(err.text, "s3cret"))
            fail_msg("%s: tells a secret", bad[i].name);
        catalog_finish(&catalog);
    }
}

/* Written by hand into a file that is then broken somewhere near. */
static void a_secret_is_in_no_sentence(void **state)
{
    (void)state;
    static const char *const files[] = {
        "{\"t\": {\"headers\": {\"A\": \"s3cret",
        "{\"t\": {\"headers\": {\"A\": \"s3cret\n\"}}}",
        "{\"t\": {\"headers\": {\"A\" s3cret}}}",
        TOOL("\"headers\": {\"A\": [\"s3cret\"]}"),
        TOOL("\"headers\": \"s3cret\""),
        TOOL("\"headers\": {\"A\": \"s3cret\\n\"}"),
        TOOL("\"headers\": {\"A\": \"${KEY}\\n\"}"),
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct catalog catalog;
        struct err err = { .kind = ERR_NONE };
        if (load(&catalog, files[i], &err))
            fail_msg("%s: taken", files[i]);
        if (strstr(err.text, "s3cret"))
            fail_msg("%s: %s", files[i], err.text);
        catalog_finish(&catalog);
    }
}

static void too_many_are_refused(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf text;
    struct catalog catalog;
    struct err err;
    buf_init(&text, 64 << 10);
    buf_add(&text, VIEW("{"));
    for (int i = 0; i < 65; i++)
        buf_printf(&text, "%s\"t%d\": {\"url\": \"http://h\"}", i ? ", " : "",
                   i);
    buf_append(&text, "}", 2);
    assert_false(load(&catalog, text.data, &err));
    assert_non_null(strstr(err.text, "t64: more than 64 tools"));
    catalog_finish(&catalog);
}

static void too_long_descriptions_are_refused(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf text;
    struct catalog catalog;
    struct err err;
    buf_init(&text, 256 << 10);
    buf_add(&text, VIEW("{\"t\": {\"url\": \"http://h\", \"description\": \""));
    for (int i = 0; i < 70000; i++)
        buf_append(&text, "x", 1);
    buf_append(&text, "\"}}", 4);
    assert_false(load(&catalog, text.data, &err));
    assert_non_null(strstr(err.text, "more than 65536 bytes of description"));
    catalog_finish(&catalog);
}

static const char full[] =
    "{\"search-web\": {"
    "  \"description\": \"Looks it up.\","
    "  \"parameters\": {\"type\": \"object\","
    "     \"properties\": {\"deep\": {\"type\": \"boolean\"},"
    "                      \"query\": {\"type\": \"string\"},"
    "                      \"any\": true},"
    "     \"required\": [\"query\"]},"
    "  \"url\": \"https://search.example/v1/find\","
    "  \"headers\": {\"Authorization\": \"Bearer ${KEY}, ${KEY}\"},"
    "  \"total_ms\": 5, \"max_bytes\": 6},"
    " \"order\": {\"method\": \"POST\", \"url\": \"http://user:pw@h\","
    "    \"repeat\": true},"
    " \"form\": {\"method\": \"POST\", \"url\": \"http://h/{id}?{page}\","
    "    \"headers\": {\"content-type\": \"application/x-form\"},"
    "    \"parameters\": {\"additionalProperties\": true}}}";

static const struct http_tool *find(const struct catalog *catalog,
                                    const char *name)
{
    return (const struct http_tool *)catalog_find(catalog, view_of(name));
}

static void what_a_file_says_is_there(void **state)
{
    (void)state;
    struct catalog catalog;
    struct err err = { .kind = ERR_NONE };
    if (!load(&catalog, full, &err))
        fail_msg("%s", err.text);
    assert_int_equal(catalog.count, 3);
    const struct http_tool *search = find(&catalog, "search-web");
    assert_string_equal(search->headers.lines[0],
                        "Authorization: Bearer s3cret, "
                        "s3cret");
    assert_null(search->headers.lines[1]);
    assert_true(search->tool.repeat && !search->post);
    assert_int_equal(search->total_ms, 5);
    assert_int_equal(search->max_bytes, 6);
    const struct http_tool *order = find(&catalog, "order");
    assert_true(order->post && order->tool.repeat);
    assert_string_equal(order->headers.lines[0],
                        "Content-Type: application/json");
    const struct http_tool *form = find(&catalog, "form");
    assert_false(form->tool.repeat);
    assert_string_equal(form->headers.lines[0],
                        "content-type: application/x-form");
    assert_null(form->headers.lines[1]); /* the operator's own, and no other */
    assert_null(catalog_find(&catalog, VIEW("search_web")));
    assert_null(catalog_find(&catalog, VIEW("")));
    catalog_finish(&catalog);
    catalog_finish(&catalog); /* a finished one is nothing to do */
}

static void a_job_is_told_of_what_it_wants(void **state)
{
    (void)state;
    struct catalog catalog;
    struct err err;
    struct view wanted[] = { VIEW("order"), VIEW("nothing") };
    CLEANUP(buf_finish) struct buf all, one, none;
    buf_init(&all, 1 << 16);
    buf_init(&one, 1 << 16);
    buf_init(&none, 1 << 16);
    assert_true(load(&catalog, full, &err));
    catalog_stubs(&catalog, &(struct list){ 0 }, &all);
    assert_true(view_starts(
        buf_view(&all),
        "\ndef search_web(query: str, deep: bool = None, any: Any = None): "
        "\"\"\"Looks it up.\"\"\"\ndef order()\ndef form()"));
    catalog_describe(&catalog, &(struct list){ wanted, 2 }, &one);
    assert_true(view_is(buf_view(&one),
                        "[{\"name\":\"order\",\"parameters\":{\"type\":"
                        "\"object\",\"properties\":{}}}]"));
    catalog_describe(&catalog, &(struct list){ wanted + 1, 1 }, &none);
    assert_int_equal(none.len, 0);
    catalog_finish(&catalog);
}

static void without_a_file_there_are_none(void **state)
{
    (void)state;
    struct catalog catalog = { .count = 0 };
    struct err err;
    assert_true(catalog_load(&catalog, "", &err));
    assert_int_equal(catalog.count, 0);
    assert_false(catalog_load(&catalog, "/nowhere/tools.json", &err));
    assert_non_null(strstr(err.text, "/nowhere/tools.json"));
    catalog_finish(&catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_file_is_refused_in_a_sentence),
        cmocka_unit_test(a_secret_is_in_no_sentence),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(too_long_descriptions_are_refused),
        cmocka_unit_test(what_a_file_says_is_there),
        cmocka_unit_test(a_job_is_told_of_what_it_wants),
        cmocka_unit_test(without_a_file_there_are_none),
    };
    setenv("KEY", "s3cret", 1);
    setenv("TWO_LINES", "s3cret\nX: y", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
