/* test_response_list.c - what a response was asked, in pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/responses/message_items.h"
#include "producer/gateway/responses/response_list.h"
#include "schemas/message/buf.h"

#define JOB "019aa5c8-1b2c-7000-8000-000000000000"
#define DIGITS "019aa5c81b2c70008000000000000000"

/* JSON with ' in place of ". */
static json_t *json_of(const char *notation)
{
    char *text = strdup(notation);
    json_t *json;

    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json = json_loads(text, 0, NULL);
    if (!json)
        fail_msg("%s", notation);
    free(text);
    return json;
}

#define ITEM(prefix, place, type)                                              \
    "{'id':'" prefix DIGITS "i" place "','type':'" type                        \
    "','status':'completed',"

static void test_input_items(void **state)
{
    json_t *messages = json_of(
        "[{'role':'tool','tool_call_id':'z','content':'0'},"
        "{'role':'user','content':[{'type':'text','text':'a'},"
        "{'type':'image_url','image_url':{'url':'https://e','detail':'low'}}]},"
        "{'role':'assistant','content':'b','tool_calls':[{'id':'x','type':"
        "'function','function':{'name':'f','arguments':'{}'}},{'id':'y',"
        "'type':'function','function':{'name':'execute_python_code',"
        "'arguments':'{\\'code\\':\\'1\\'}'}}]},"
        "{'role':'tool','tool_call_id':'y','content':'2'},"
        "{'role':'tool','tool_call_id':'x','content':'3'}]");
    json_t *wanted = json_of("[" ITEM("fco_", "0000", "function_call_output") "'call_id':'z','output':'0'}," ITEM(
        "msg_", "0001",
        "message") "'role':'user','content':[{'type':'input_text','text':'a'},"
                   "{'type':'input_image','image_url':'https://"
                   "e','detail':'low'}]}," ITEM(
                       "msg_", "0002",
                       "message") "'role':'assistant','content':[{'type':'"
                                  "output_text','text':'b',"
                                  "'annotations':[],'logprobs':[]}]}," ITEM(
                                      "fc_", "0003",
                                      "function_call") "'call_id':'x','name':'"
                                                       "f','arguments':'{}'}"
                                                       "," ITEM(
                                                           "ci_", "0004",
                                                           "code_"
                                                           "interpreter_"
                                                           "call") "'conta"
                                                                   "iner_"
                                                                   "id':'"
                                                                   "cntr_"
                                                                   "7','"
                                                                   "code':"
                                                                   "'1','"
                                                                   "output"
                                                                   "s':"
                                                                   "null}"
                                                                   "," ITEM(
                                                                       "fco_",
                                                                       "0005",
                                                                       "functio"
                                                                       "n_call_"
                                                                       "output") "'call_id':'x','output':'3'}]");
    const struct wire_job job = { .id = VIEW(JOB),
                                  .container = VIEW("cntr_7") };
    json_t *items;
    char *text;

    (void)state;
    items = response_input_items(&job, messages);
    text = json_dumps(items, 0);
    if (!json_equal(items, wanted))
        fail_msg("the items are %s", text);
    free(text);
    json_decref(items);
    json_decref(messages);
    json_decref(wanted);
}

static void test_pages(void **state)
{
    static const struct {
        const char *limit, *order, *after, *ids;
        bool has_more;
    } rows[] = {
        { "", "", "", "e d c b a ", false },
        { "2", "asc", "", "a b ", true },
        { "2", "asc", "b", "c d ", true },
        { "2", "asc", "d", "e ", false },
        { "3", "asc", "b", "c d e ", false },
        { "2", "desc", "d", "c b ", true },
        { "1", "desc", "a", "", false },
        { "100", "asc", "", "a b c d e ", false },
    };
    json_t *items = json_of("[{'id':'a'},{'id':'b'},{'id':'c'},{'id':'d'},"
                            "{'id':'e'}]");

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf ids = { .max = 100 };
        struct response_page page;
        struct body_error error;
        json_t *list, *item;
        size_t k;

        assert_true(response_page_read(&page, view_of(rows[i].limit),
                                       view_of(rows[i].order),
                                       view_of(rows[i].after), &error));
        list = response_list(items, &page, &error);
        json_array_foreach(json_object_get(list, "data"), k, item)
            buf_printf(&ids, "%s ",
                       json_string_value(json_object_get(item, "id")));
        if (!view_is(buf_view(&ids), rows[i].ids))
            fail_msg("row %zu: %.*s", i, VIEW_ARG(buf_view(&ids)));
        assert_int_equal(json_is_true(json_object_get(list, "has_more")),
                         rows[i].has_more);
        assert_int_equal(json_is_null(json_object_get(list, "first_id")),
                         ids.len == 0);
        json_decref(list);
    }
    json_decref(items);
}

static void test_pages_that_are_refused(void **state)
{
    static const struct {
        const char *limit, *order, *param;
    } rows[] = {
        { "0", "", "limit" },  { "101", "", "limit" }, { "1000", "", "limit" },
        { "-1", "", "limit" }, { "x", "", "limit" },   { "", "up", "order" },
    };
    struct response_page page = { .limit = 5, .after = VIEW("z") };
    struct body_error error;
    json_t *items = json_of("[{'id':'a'}]");

    (void)state;
    assert_null(response_list(items, &page, &error));
    assert_string_equal(error.param, "after");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_false(response_page_read(&page, view_of(rows[i].limit),
                                        view_of(rows[i].order), VIEW(""),
                                        &error));
        assert_string_equal(error.param, rows[i].param);
    }
    json_decref(items);
}

static void test_the_job_of_an_item(void **state)
{
    char job[37];
    json_t *deleted = response_deleted(VIEW(JOB));

    (void)state;
    assert_true(response_item_job(VIEW("msg_" DIGITS "0001"), job));
    assert_string_equal(job, JOB);
    assert_true(response_item_job(VIEW("fco_" DIGITS "i0001"), job));
    assert_true(response_item_is_input(VIEW("fco_" DIGITS "i0001")));
    assert_false(response_item_is_input(VIEW("msg_" DIGITS "0001")));
    assert_false(response_item_is_input(VIEW("msg_")));
    assert_false(response_item_job(VIEW("msg_" DIGITS), job));
    assert_false(response_item_job(VIEW("xyz_" DIGITS "0001"), job));
    assert_false(response_item_job(VIEW("msg_X" DIGITS "0001"), job));
    assert_false(response_item_job(VIEW(""), job));
    assert_string_equal(json_string_value(json_object_get(deleted, "id")),
                        "resp_" DIGITS);
    json_decref(deleted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_items),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_pages_that_are_refused),
        cmocka_unit_test(test_the_job_of_an_item),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
