/* test_links.c - which targets of an answer lead to a file of its job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "consumer/conversation/links.h"
#include "schemas/message/limits.h"

static const struct link_item items[] = {
    { VIEW_INIT("figure-1.png"), { 0 }, VIEW_INIT("f1") },
    { VIEW_INIT("2_out.csv"), VIEW_INIT("d/out.csv"), VIEW_INIT("oc") },
    { VIEW_INIT("my plot (1).png"), { 0 }, VIEW_INIT("mp") },
    { VIEW_INIT("图.png"), { 0 }, VIEW_INIT("zh") },
    { VIEW_INIT("a_b.txt"), { 0 }, VIEW_INIT("ab") },
};

static const struct {
    const char *name, *markdown, *wanted; /* NULL: as it is */
} rows[] = {
    { "an image", "![x](figure-1.png)", "![x](u/f1/figure-1.png)" },
    { "a link", "See [it](figure-1.png).", "See [it](u/f1/figure-1.png)." },
    { "two of them", "[a](figure-1.png)[b](a_b.txt)",
      "[a](u/f1/figure-1.png)[b](u/ab/a_b.txt)" },
    { "by its path", "[o](d/out.csv)", "[o](u/oc/2_out.csv)" },
    { "by its name", "[o](2_out.csv)", "[o](u/oc/2_out.csv)" },
    { "here", "![](./figure-1.png)", "![](u/f1/figure-1.png)" },
    { "in the workspace", "[o](/workspace/d/out.csv)", "[o](u/oc/2_out.csv)" },
    { "in a sandbox", "[o](sandbox:/mnt/data/figure-1.png)",
      "[o](u/f1/figure-1.png)" },
    { "in a sandbox's root", "[o](sandbox:/figure-1.png)",
      "[o](u/f1/figure-1.png)" },
    { "in a sandbox, slashes", "[o](sandbox:///workspace/figure-1.png)",
      "[o](u/f1/figure-1.png)" },
    { "in a sandbox, any folder", "[o](sandbox:/home/me/a_b.txt)",
      "[o](u/ab/a_b.txt)" },
    { "attached", "![o](attachment:figure-1.png)", "![o](u/f1/figure-1.png)" },
    { "attached, slashes", "![o](attachment://figure-1.png)",
      "![o](u/f1/figure-1.png)" },
    { "as a file", "![o](file:///workspace/figure-1.png)",
      "![o](u/f1/figure-1.png)" },
    { "with a title", "![o](figure-1.png \"a (b)\")",
      "![o](u/f1/figure-1.png \"a (b)\")" },
    { "with a title in brackets", "![o](figure-1.png (a))",
      "![o](u/f1/figure-1.png (a))" },
    { "a title with a bracket open", "![o](figure-1.png (a(b))", NULL },
    { "in angles", "![o](<my plot (1).png>)",
      "![o](<u/mp/my%20plot%20%281%29.png>)" },
    { "escaped for the web", "![o](my%20plot%20(1).png)",
      "![o](u/mp/my%20plot%20%281%29.png)" },
    { "with blanks", "![o](my plot (1).png)", NULL },
    { "escaped", "[o](a\\_b.txt)", "[o](u/ab/a_b.txt)" },
    { "Chinese", "![图](图.png)", "![图](u/zh/%E5%9B%BE.png)" },
    { "an image in a link", "[![a](figure-1.png)](a_b.txt)",
      "[![a](u/f1/figure-1.png)](u/ab/a_b.txt)" },
    { "over two lines", "[a\nb](\nfigure-1.png\n)",
      "[a\nb](\nu/f1/figure-1.png\n)" },
    { "a definition", "[a]\n\n[a]: figure-1.png \"t\"\n",
      "[a]\n\n[a]: u/f1/figure-1.png \"t\"\n" },
    { "in a list", "- a\n    ![x](figure-1.png)",
      "- a\n    ![x](u/f1/figure-1.png)" },
    { "in a table", "| ![x](figure-1.png) |", "| ![x](u/f1/figure-1.png) |" },
    { "behind code", "`a` ![x](figure-1.png)", "`a` ![x](u/f1/figure-1.png)" },
    { "behind half of code", "` ![x](figure-1.png)",
      "` ![x](u/f1/figure-1.png)" },
    { "behind a fence", "```\na\n```\n![x](figure-1.png)",
      "```\na\n```\n![x](u/f1/figure-1.png)" },
    { "code", "`![x](figure-1.png)`", NULL },
    { "code, more ticks", "`` ` ![x](figure-1.png) ``", NULL },
    { "code over two lines", "`a\n![x](figure-1.png)`", NULL },
    { "a fence", "```\n![x](figure-1.png)\n```", NULL },
    { "a fence that never ends", "~~~md\n\n![x](figure-1.png)\n", NULL },
    { "a fence in a list", "1. a\n   ```\n   ![x](figure-1.png)\n   ```",
      NULL },
    { "code by its indent", "a\n\n    ![x](figure-1.png)\n", NULL },
    { "another file", "![x](figure-2.png) [y](https://h/figure-1.png)", NULL },
    { "another folder", "[x](/etc/figure-1.png) [y](e/figure-1.png)", NULL },
    { "no link", "figure-1.png (figure-1.png) [figure-1.png] ](a_b.txt)",
      NULL },
    { "an escaped link", "\\[x](figure-1.png)", NULL },
    { "an escaped line end",
      "[x](sandbox:b\\\n/a_b.txt) [y](<sandbox:b\\\n/a_b.txt>)", NULL },
    { "half a link", "[x](figure-1.png", NULL },
    { "no title", "[x](figure-1.png \"a)", NULL },
    { "nothing", "[x]() []() ![](<>)", NULL },
    { "the end", "[x](figure-1.png\\", NULL },
    { "an empty text", "", NULL },
};

static void test_links(void **state)
{
    (void)state;
    const struct links links = {
        .template = "u/{blob}/{name}",
        .items = items,
        .count = sizeof(items) / sizeof(items[0]),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf out;
        const char *wanted = rows[i].wanted ? rows[i].wanted : rows[i].markdown;
        buf_init(&out, 4096);
        links_write(&out, view_of(rows[i].markdown), &links);
        if (!view_is(buf_view(&out), wanted))
            fail_msg("%s: %.*s", rows[i].name, VIEW_ARG(buf_view(&out)));
    }
}

/* What a model says must not stop all other conversations. */
static void test_time(void **state)
{
    (void)state;
    static const char *const pieces[] = { "[](",    "[](b ",    "[](<b",
                                          "[](a (", "[](a '\"", "[x]: ",
                                          "` ``",   "![](a\\",  "[a\n" };
    const struct links links = { .template = "u/{blob}/{name}",
                                 .items = items,
                                 .count = 1 };
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        CLEANUP(buf_finish) struct buf text;
        CLEANUP(buf_finish) struct buf out;
        buf_init(&text, MAX_ANSWER_BYTES);
        buf_init(&out, MAX_ANSWER_BYTES);
        while (text.len + strlen(pieces[i]) <= MAX_ANSWER_BYTES)
            buf_add(&text, view_of(pieces[i]));
        clock_t begin = clock();
        links_write(&out, buf_view(&text), &links);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        assert_true(view_equal(buf_view(&out), buf_view(&text)));
        if (seconds > 1)
            fail_msg("\"%s\" again and again: %.1f s", pieces[i], seconds);
    }
}

static void test_templates(void **state)
{
    (void)state;
    static const struct {
        const char *template;
        bool good;
    } templates[] = {
        { "", true },
        { "https://files.example/{blob}/{name}", true },
        { "/blob?id={blob}&job={job}", true },
        { "https://files.example/{name}", false },
        { "https://files.example/{blob} x", false },
        { "https://files.example/({blob})", false },
        { "https://files.example/{blob}\n", false },
        { "https://files.example/{blob}/\xc3\xa9", false },
    };
    struct err err;
    for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++)
        if (links_check(templates[i].template, &err) != templates[i].good)
            fail_msg("%s", templates[i].template);
    assert_string_equal(err.code, "bad_setting");
    CLEANUP(buf_finish) struct buf out;
    struct links links = {
        .template = "/{blob}?{job}{x}&{name}",
        .job = VIEW("j"),
        .items = items,
        .count = 1,
    };
    buf_init(&out, 4096);
    links_write(&out, VIEW("[a](figure-1.png)"), &links);
    assert_true(view_is(buf_view(&out), "[a](/f1?j{x}&figure-1.png)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
