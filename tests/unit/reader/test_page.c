/* What a person would read of a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/reader/page.h"

/* What it shows, the HTML, its text. */
static const struct {
    const char *name, *html, *text;
} rows[] = {
    { "nothing", "", "" },
    { "only blanks", " <p> \n </p> <div></div>", "" },
    { "words", "  one\n\ttwo  ", "one two" },
    { "entities", "a &lt; b &amp; c &eacute;&#x4e2d;", "a < b & c é中" },
    { "paragraphs", "<p>a<p>b<div>c</div>d", "a\n\nb\n\nc\nd" },
    { "a line end", "a<br>b<br><br><br>c", "a\nb\nc" },
    { "headings", "<h1>a</h1><h3>b <i>c</i></h3>d", "# a\n\n### b c\n\nd" },
    { "an empty heading", "<h1> </h1>a", "a" },
    { "a list", "<ul><li>a<li>b</ul>c", "- a\n- b\n\nc" },
    { "a numbered one", "<ol><li>a<li><p>b</ol>", "1. a\n\n2. b" },
    { "lists in lists", "<ul><li>a<ul><li>b<ul><li>c</ul></ul><li>d</ul>",
      "- a\n  - b\n    - c\n- d" },
    { "an item that goes on", "<ul><li>a<br>b</ul>", "- a\n  b" },
    { "an empty item", "<ul><li></li><li>b</ul>", "- b" },
    { "a link", "<a href=x?y>a b</a>.", "[a b](http://h/p/x?y)." },
    { "one to another server", "<a href='//o/%28(x)'>a</a>",
      "[a](http://o/%28%28x%29)" },
    { "one with blanks", "<a href=' /a b '>a</a>", "[a](http://h/a%20b)" },
    { "a place in the page", "<a href='#x'>a</a>", "a" },
    { "a script as a link", "<a href='javascript:x()'>a</a>", "a" },
    { "a mail", "<a href='mailto:a@b'>a</a>", "a" },
    { "an empty link", "<a href=x></a>b", "b" },
    { "a name", "<a name=x>a</a>", "a" },
    { "a link that is a heading", "<a href=x><h2>a</h2></a>",
      "## [a](http://h/p/x)" },
    { "a base", "<base href='http://b/c/'><a href=x>a</a>",
      "[a](http://b/c/x)" },
    { "a picture", "<img src=x.png alt='a cat'>b",
      "![a cat](http://h/p/x.png)b" },
    { "one without words", "<img src=x.png alt=' '>b", "b" },
    { "one that is data", "<img alt=a src='data:image/png;base64,AA'>",
      "![a]" },
    { "code", "<pre>  a\n\n\tb\n</pre>c", "```\n  a\n\n\tb\n```\n\nc" },
    { "a quotation", "<blockquote>a<p>b</blockquote>c", "> a\n\n> b\n\nc" },
    { "a table", "<table><tr><th>a<th>b<tr><td>1|2<td></table>c",
      "| a | b |\n| --- | --- |\n| 1\\|2 | |\n\nc" },
    { "cells of many lines",
      "<table><tr><td>a<p>b<br>c<td><ul><li>d</ul></table>",
      "| a b c | d |\n| --- | --- |" },
    { "a page laid out as a table",
      "<table><tr><td><h1>a</h1><td><table><tr><td>b</table></table>",
      "# a\n\n| b |\n| --- |" },
    { "a rule", "a<hr>b", "a\n\n---\n\nb" },
    { "what nobody reads",
      "<style>a</style><script>b</script><nav>c</nav><svg><text>d</text></svg>"
      "<noscript>e</noscript><template>f</template><button>g</button>"
      "<select><option>h</select><textarea>i</textarea><!-- j -->k",
      "k" },
    { "what is hidden",
      "<p hidden>a</p><p aria-hidden=true>b</p>"
      "<div role=Navigation>c</div>d",
      "d" },
    { "no end", "<div><ul><li>a<table><tr><td>b", "- a\n\n  | b |\n  | --- |" },
    { "ends without beginnings", "</ul></li></a></table></pre></h1>a", "a" },
    { "wrong nesting", "<a href=x>a<table><tr><td>b</a>c</table>", NULL },
    { "control characters", "a&#27;[31mb", "a[31mb" },
};

static void pages_read_as_markdown(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct page page;
        struct err err;
        if (!page_read(&page, view_of(rows[i].html), "http://h/p/q", &err))
            fail_msg("%s: %s", rows[i].name, err.text);
        if (rows[i].text && !view_is(buf_view(&page.text), rows[i].text))
            fail_msg("%s: %.*s", rows[i].name, VIEW_ARG(buf_view(&page.text)));
        page_finish(&page);
    }
}

static void a_title_is_one_short_line(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf html;
    struct page page;
    struct err err;
    assert_true(page_read(&page, VIEW("<title> a\n  b </title>c"), "", &err));
    assert_true(view_is(buf_view(&page.title), "a b"));
    assert_true(view_is(buf_view(&page.text), "c"));
    page_finish(&page);
    buf_init(&html, 4096);
    buf_add(&html, VIEW("<title>"));
    for (int i = 0; i < 500; i++)
        buf_add(&html, VIEW("xyz "));
    assert_true(page_read(&page, buf_view(&html), "", &err));
    assert_in_range(page.title.len, 200, MAX_PAGE_TITLE);
    page_finish(&page);
}

/* gumbo would free the first by recursion. Of the second it opens every <b>
 * again in each paragraph: gigabytes. */
static void a_deep_page_is_left(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf deep, bold;
    struct page page;
    struct err err = { .kind = ERR_NONE };
    buf_init(&deep, 4 << 20);
    buf_init(&bold, 4 << 20);
    for (int i = 0; i < 20000; i++)
        buf_add(&deep, VIEW("<b>"));
    for (int i = 0; i < 3000; i++)
        buf_printf(&bold, "<p><b a=%d>x", i);
    assert_true(page_read(&page, buf_view(&deep), "http://h/", &err));
    page_finish(&page);
    assert_false(page_read(&page, buf_view(&bold), "http://h/", &err));
    assert_string_equal(err.code, "too_large");
    page_finish(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_read_as_markdown),
        cmocka_unit_test(a_title_is_one_short_line),
        cmocka_unit_test(a_deep_page_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
