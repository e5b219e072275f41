/* test_chat_links.c - what code has made, as links in the Markdown of a chat.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/chat/chat_links.h"
#include "producer/gateway/chat/chat_object.h"

static char *link_url(const void *owner, enum wire_link_kind kind,
                      struct view name)
{
    const char *url = kind == WIRE_LINK_IMAGE ? "<image>" : "<file>";

    (void)owner;
    return view_is(name, "unnameable") ? NULL : view_dup(view_of(url));
}

static const struct wire_job job = {
    .id = VIEW_INIT("019aa5c8-1b2c-7000-8000-000000000000"),
    .links = { link_url, NULL },
};

static struct file_ref files[] = {
    { .name = VIEW_INIT("a.csv"), .blob = VIEW_INIT("x") },
    { .name = VIEW_INIT("a.csv.gz"), .blob = VIEW_INIT("x") },
    { .name = VIEW_INIT("my data (1).txt"), .blob = VIEW_INIT("x") },
    { .name = VIEW_INIT("gr\xc3\xb6\xc3\x9f"
                        "e.csv"),
      .blob = VIEW_INIT("x") },
    { .name = VIEW_INIT("lost") },
    { .name = VIEW_INIT("unnameable"), .blob = VIEW_INIT("x") },
};
static const struct result result = { .files = { files, 6 } };

static const struct {
    const char *text, *shown;
    chat_linked linked;
} texts[] = {
    { "[it](sandbox:/mnt/data/a.csv)", "[it](<file>)", 1 },
    { "[it](/mnt/data/a.csv)", "[it](<file>)", 1 },
    { "![it](sandbox:/mnt/data/a.csv) end", "![it](<file>) end", 1 },
    { "[it](</mnt/data/a.csv>)", "[it](<file>)", 1 },
    { "[it](/mnt/data/a.csv \"title\")", "[it](<file> \"title\")", 1 },
    { "[x](/mnt/data/a.csv.gz)", "[x](<file>)", 2 },
    { "[x](/mnt/data/my data (1).txt)", "[x](<file>)", 4 },
    { "[x](sandbox:/mnt/data/my%20data%20%281%29.txt)", "[x](<file>)", 4 },
    { "[x](/mnt/data/gr%C3%b6%c3%9Fe.csv)", "[x](<file>)", 8 },
    { "a [b](/mnt/data/a.csv)[c](/mnt/data/a.csv.gz)",
      "a [b](<file>)[c](<file>)", 3 },
    /* What is no link to a file of the result stays. */
    { "[it](/mnt/data/other)", "[it](/mnt/data/other)", 0 },
    { "[it](/mnt/data/a.csv2)", "[it](/mnt/data/a.csv2)", 0 },
    { "[it](/mnt/data/a.cs", "[it](/mnt/data/a.cs", 0 },
    { "[it](/mnt/data/a.csv", "[it](/mnt/data/a.csv", 0 },
    { "[it](</mnt/data/a.csv)", "[it](</mnt/data/a.csv)", 0 },
    { "[it](/mnt/data/a%2", "[it](/mnt/data/a%2", 0 },
    { "[it](/mnt/data/)", "[it](/mnt/data/)", 0 },
    { "[it](https://x/mnt/data/a.csv)", "[it](https://x/mnt/data/a.csv)", 0 },
    { "see /mnt/data/a.csv", "see /mnt/data/a.csv", 0 },
    { "[it](/mnt/data/lost)", "[it](/mnt/data/lost)", 0 },
    { "[it](/mnt/data/unnameable)", "[it](/mnt/data/unnameable)", 0 },
    { "](", "](", 0 },
    { "", "", 0 },
};

static void test_links_of_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        CLEANUP(buf_finish) struct buf text = { .max = 1000 };

        assert_int_equal(
            chat_add_text(&text, &job, &result, view_of(texts[i].text)),
            texts[i].linked);
        buf_append(&text, "", 1);
        assert_string_equal(text.data, texts[i].shown);
    }
}

static void test_without_a_result_they_stay(void **state)
{
    CLEANUP(buf_finish) struct buf text = { .max = 1000 };

    (void)state;
    assert_int_equal(chat_add_text(&text, &job, NULL, view_of(texts[0].text)),
                     0);
    assert_true(view_is(buf_view(&text), texts[0].text));
}

static const struct {
    struct view name;
    const char *shown;
} names[] = {
    { VIEW_INIT("my_plot-1.png"), "[my_plot-1.png](<file>)" },
    { VIEW_INIT("__init__.py"), "[\\_\\_init\\_\\_.py](<file>)" },
    { VIEW_INIT("a](javascript:x)"), "[a\\](javascript\\:x)](<file>)" },
    { VIEW_INIT("<b>*`$\\"), "[\\<b\\>\\*\\`\\$\\\\](<file>)" },
    { VIEW_INIT("![x]\n# y"), "[\\!\\[x\\] \\# y](<file>)" },
    { VIEW_INIT("a\tb\x7f"), "[a b ](<file>)" },
};

static void test_names_are_no_markdown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLEANUP(buf_finish) struct buf text = { .max = 1000 };
        struct file_ref file = { .name = names[i].name, .blob = VIEW("x") };
        const struct result made = { .files = { &file, 1 } };

        chat_add_files(&text, &job, &made, 0);
        buf_append(&text, "", 1);
        assert_string_equal(text.data, names[i].shown);
    }
}

static void test_a_file_is_linked_once(void **state)
{
    CLEANUP(buf_finish) struct buf text = { .max = 1000 };

    (void)state;
    chat_add_files(&text, &job, &result, 1 | 8);
    assert_true(view_is(buf_view(&text), "[a.csv.gz](<file>)\n\n"
                                         "[my data (1).txt](<file>)"));
}

/* A whole chat: texts, images and files in their places. */
static void test_the_whole_answer(void **state)
{
    static const char response[] =
        "{\"status\":\"completed\",\"created_at\":7,\"model\":\"m\",\"output\":"
        "["
        "{\"type\":\"message\",\"content\":[{\"text\":\"First.\"}]},"
        "{\"type\":\"code_interpreter_call\",\"outputs\":["
        "{\"type\":\"image\",\"name\":\"1.png\",\"url\":\"u1\"}]},"
        "{\"type\":\"code_interpreter_call\",\"outputs\":[]},"
        "{\"type\":\"message\",\"content\":[{\"text\":"
        "\"[Data](sandbox:/mnt/data/a.csv).\"}]}]}";
    json_t *given = json_loads(response, 0, NULL);
    json_t *chat = chat_object(&job, given, &result);
    const json_t *choice = json_array_get(json_object_get(chat, "choices"), 0);
    const json_t *message = json_object_get(choice, "message");

    (void)state;
    assert_string_equal(
        json_string_value(json_object_get(message, "content")),
        "First.\n\n![1.png](u1)\n\n[Data](<file>).\n\n[a.csv.gz](<file>)\n\n"
        "[my data (1).txt](<file>)\n\n[gr\xc3\xb6\xc3\x9f"
        "e.csv](<file>)");
    json_decref(chat);
    json_decref(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_of_the_model),
        cmocka_unit_test(test_without_a_result_they_stay),
        cmocka_unit_test(test_names_are_no_markdown),
        cmocka_unit_test(test_a_file_is_linked_once),
        cmocka_unit_test(test_the_whole_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
