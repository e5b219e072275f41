/* From what code says to the request that goes out, and from the answer back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/tools/request.h"

static const char parameters[] =
    "{\"type\": \"object\", \"required\": [\"q\"], \"properties\": {"
    "  \"q\": {\"type\": \"string\"},"
    "  \"n\": {\"type\": \"integer\"},"
    "  \"x\": {\"type\": [\"number\", \"null\"]},"
    "  \"way\": {\"enum\": [\"up\", \"down\", 7]},"
    "  \"list\": {\"type\": \"array\"},"
    "  \"flag\": {\"type\": \"boolean\"},"
    "  \"deep\": {\"type\": \"object\"},"
    "  \"any\": true}}";

#define PLAIN "https://h/find"

/* url: where the tool is; arguments; what goes out, or the sentence. */
static const struct {
    const char *name, *url, *arguments;
    const char *gets;   /* URL of a GET; NULL: refused */
    const char *refuse; /* in the sentence */
} rows[] = {
    { "a text", PLAIN, "{\"q\": \"a\"}", "https://h/find?q=a", NULL },
    { "what means something in a query", PLAIN, "{\"q\": \"a&b=c?d#e%20+/ \"}",
      "https://h/find?q=a%26b%3Dc%3Fd%23e%2520%2B%2F%20", NULL },
    { "other languages", PLAIN, "{\"q\": \"中é\"}",
      "https://h/find?q=%E4%B8%AD%C3%A9", NULL },
    { "a line end", PLAIN, "{\"q\": \"a\\r\\nHost: x\"}",
      "https://h/find?q=a%0D%0AHost%3A%20x", NULL },
    { "numbers and others", PLAIN,
      "{\"q\": \"\", \"n\": -3, \"x\": 1.5, \"flag\": true, \"list\": [1, "
      "\"a\"]}",
      "https://h/find?q=&n=-3&x=1.5&flag=true&list=%5B1%2C%22a%22%5D", NULL },
    { "a query that is there", PLAIN "?key=1", "{\"q\": \"a\"}",
      "https://h/find?key=1&q=a", NULL },
    { "a place in the path", "https://h/items/{q}/x", "{\"q\": \"a/../b\"}",
      "https://h/items/a%2F..%2Fb/x", NULL },
    { "a place in path and query", "https://h/{q}?m={n}",
      "{\"q\": \"a\", \"n\": 2}", "https://h/a?m=2", NULL },
    { "a place in the query that nothing is for", "https://h/x?m={n}",
      "{\"q\": \"a\"}", "https://h/x?m=&q=a", NULL },
    { "a dot in the path", "https://h/{q}", "{\"q\": \".\"}", NULL,
      "an argument in the path may not be \".\"" },
    { "two dots", "https://h/{q}", "{\"q\": \"..\"}", NULL, "may not be" },
    { "nothing in the path", "https://h/{q}/x", "{\"q\": \"\"}", NULL,
      "may not be \"\"" },
    { "dots that make two", "https://h/{q}{any}",
      "{\"q\": \".\", \"any\": \".\"}", NULL, "may not be \".\"" },
    { "three dots are a name", "https://h/{q}", "{\"q\": \"...\"}",
      "https://h/...", NULL },
    { "a dot in the query", "https://h/?p={q}", "{\"q\": \"..\"}",
      "https://h/?p=..", NULL },
    { "a missing place in the path", "https://h/{n}", "{\"q\": \"a\"}", NULL,
      "the argument \"n\" is missing" },
    { "a missing argument", PLAIN, "{}", NULL,
      "the argument \"q\" is missing" },
    { "one that there is not", PLAIN, "{\"q\": \"a\", \"z\": 1}", NULL,
      "there is no argument \"z\"" },
    { "a number for a text", PLAIN, "{\"q\": 1}", NULL,
      "the argument \"q\" is not what the tool takes" },
    { "a real for a whole number", PLAIN, "{\"q\": \"\", \"n\": 1.0}", NULL,
      "\"n\" is not what" },
    { "null where it may be", PLAIN, "{\"q\": \"\", \"x\": null}",
      "https://h/find?q=&x=null", NULL },
    { "null where it may not be", PLAIN, "{\"q\": \"\", \"n\": null}", NULL,
      "\"n\" is not" },
    { "one of those", PLAIN, "{\"q\": \"\", \"way\": \"up\"}",
      "https://h/find?q=&way=up", NULL },
    { "none of those", PLAIN, "{\"q\": \"\", \"way\": \"left\"}", NULL,
      "\"way\" is not" },
    { "an object for a list", PLAIN, "{\"q\": \"\", \"list\": {}}", NULL,
      "\"list\" is not" },
    { "anything where it may be", PLAIN, "{\"q\": \"\", \"any\": [[]]}",
      "https://h/find?q=&any=%5B%5B%5D%5D", NULL },
    { "no object", PLAIN, "[]", NULL, "are not a JSON object" },
    { "no JSON", PLAIN, "{\"q\": ", NULL, "are not a JSON object" },
    { "nothing at all", PLAIN, "", NULL, "are not a JSON object" },
    { "an argument twice", PLAIN, "{\"q\": \"a\", \"q\": \"b\"}", NULL,
      "are not a JSON object" },
    { "bytes that are no text", PLAIN, "{\"q\": \"\xff\"}", NULL,
      "are not a JSON object" },
    { "a NUL", PLAIN, "{\"q\": \"a\\u0000b\"}", NULL, "are not a JSON object" },
};

static struct http_tool tool_for(const char *url, bool post)
{
    return (struct http_tool){
        .tool.name = view_dup(VIEW("t")),
        .tool.function =
            json_pack("{s:o}", "parameters", json_loads(parameters, 0, NULL)),
        .url = view_dup(view_of(url)),
        .post = post,
    };
}

static void tool_free(struct http_tool *tool)
{
    tool_finish(&tool->tool);
    free(tool->url);
}

/* As a call does it: what the tool takes, then where it goes. */
static bool write_call(const struct http_tool *tool, struct view text,
                       struct buf *url, struct buf *body, struct err *err)
{
    json_t *arguments = tool_arguments(&tool->tool, text, err);
    bool good =
        arguments != NULL && request_write(tool, arguments, url, body, err);
    json_decref(arguments);
    return good;
}

static void arguments_stay_in_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf url, body;
        struct err err = { .kind = ERR_NONE };
        struct http_tool tool = tool_for(rows[i].url, false);
        buf_init(&url, 4096);
        buf_init(&body, 4096);
        bool good =
            write_call(&tool, view_of(rows[i].arguments), &url, &body, &err);
        tool_free(&tool);
        if (good != (rows[i].gets != NULL))
            fail_msg("%s: %s", rows[i].name, good ? url.data : err.text);
        if (good && (strcmp(url.data, rows[i].gets) != 0 || body.len != 0))
            fail_msg("%s: %s", rows[i].name, url.data);
        if (!good && !strstr(err.text, rows[i].refuse))
            fail_msg("%s: %s", rows[i].name, err.text);
    }
}

static void what_is_left_is_the_body_of_a_post(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf url, body;
    struct err err;
    struct http_tool tool = tool_for("https://h/{q}", true);
    buf_init(&url, 4096);
    buf_init(&body, 4096);
    assert_true(
        write_call(&tool, VIEW("{\"n\": 1, \"q\": \"a\"}"), &url, &body, &err));
    assert_string_equal(url.data, "https://h/a");
    assert_true(view_is(buf_view(&body), "{\"n\":1}"));
    tool_free(&tool);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf url, body;
    struct err err;
    struct http_tool tool = tool_for(PLAIN, false);
    buf_init(&url, 20);
    buf_init(&body, 20);
    assert_false(write_call(&tool, VIEW("{\"q\": \"aaaaaaaaaaaaaa\"}"), &url,
                            &body, &err));
    assert_string_equal(err.code, "too_large");
    tool_free(&tool);
}

/* What a server sends, what code gets. */
static const struct {
    const char *name;
    struct view body;
    const char *json;
} answers[] = {
    { "JSON", VIEW_INIT("{\"a\": [1, null]}"), "{\"a\": [1, null]}" },
    { "a bare number", VIEW_INIT("7"), "7" },
    { "nothing", VIEW_INIT(""), "\"\"" },
    { "a text", VIEW_INIT("just \"text\""), "\"just \\\"text\\\"\"" },
    { "JSON and more", VIEW_INIT("{} x"), "\"{} x\"" },
    { "bytes", VIEW_INIT("a\xff\0b"), NULL },
};

static void an_answer_is_always_json(void **state)
{
    const struct headers none = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        CLEANUP(buf_finish) struct buf out;
        buf_init(&out, 4096);
        answer_write(&none, answers[i].body, &out);
        json_t *value = json_loadb(out.data, out.len,
                                   JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (!value ||
            (answers[i].json && !view_is(buf_view(&out), answers[i].json)))
            fail_msg("%s: %.*s", answers[i].name, VIEW_ARG(buf_view(&out)));
        json_decref(value);
    }
}

/* What a server sends that repeats what it was sent: "Bearer s3cr\"t", a
 * cookie of two, and a number. */
static const struct {
    const char *name, *body, *json;
} echoes[] = {
    { "in a text", "\"you sent Bearer s3cr\\\"t.\"",
      "\"you sent Bearer ******.\"" },
    { "in a body that is no JSON", "key=s3cr\"t&key=s3cr\"t",
      "\"key=******&key=******\"" },
    { "written in another way", "[\"\\u0073\\u0033cr\\\"t\"]", "[\"******\"]" },
    { "in a member, deep", "{\"h\": [{\"a\": \"s3cr\\\"t\"}]}",
      "{\"h\":[{\"a\":\"******\"}]}" },
    { "in the name of a member", "{\"s3cr\\\"t\": 1}", "{\"******\":1}" },
    { "in a member that is there twice", "{\"a\": \"123456789\", \"a\": 1}",
      "{\"a\":1}" },
    { "as a number", "{\"pin\": 123456789, \"n\": 1.50}",
      "{\"pin\":\"*********\",\"n\":1.5}" },
    { "one of several in a header", "[\"a=t0ken; b\", \"other\"]",
      "[\"a=*****; b\",\"*****\"]" },
    { "not of a header that carries none", "[\"application/json\", 1.50]",
      "[\"application/json\", 1.50]" },
    { "too short to be one", "[\"abc\", \"ab\"]", "[\"abc\", \"ab\"]" },
    { "a beginning of one", "[\"s3cr\"]", "[\"s3cr\"]" },
};

static void a_secret_is_in_no_answer(void **state)
{
    struct headers headers = { 0 };
    struct err err;
    (void)state;
    setenv("KEY", "s3cr\"t", 1);
    setenv("TOKEN", "t0ken", 1);
    setenv("OTHER", "other", 1);
    setenv("SHORT", "ab", 1);
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "Authorization", "Bearer ${KEY}",
                  "X-Two", "a=${TOKEN}; b=${OTHER}", "X-Short", "${SHORT}",
                  "Accept", "application/json", "X-Api-Key", "123456789");
    assert_true(headers_read(&headers, json, &err));
    for (size_t i = 0; i < sizeof(echoes) / sizeof(echoes[0]); i++) {
        CLEANUP(buf_finish) struct buf out;
        buf_init(&out, 4096);
        answer_write(&headers, view_of(echoes[i].body), &out);
        if (!view_is(buf_view(&out), echoes[i].json))
            fail_msg("%s: %.*s", echoes[i].name, VIEW_ARG(buf_view(&out)));
    }
    headers_finish(&headers);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_stay_in_their_place),
        cmocka_unit_test(what_is_left_is_the_body_of_a_post),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(an_answer_is_always_json),
        cmocka_unit_test(a_secret_is_in_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
