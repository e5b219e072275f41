/* test_active.c - what a cell displayed, and whether it may act in a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/active.h"

#define NS "<svg xmlns=\"http://www.w3.org/2000/svg\">"
#define SVG(inside) NS inside "</svg>"

static const struct {
    const char *what, *text;
} drawings[] = {
    { "an empty one", SVG("") },
    { "closed at once", "<svg/>" },
    { "shapes",
      SVG("<g id='a'><path d=\"M 0 1\nL 2 3\"/><rect width='1'/></g>") },
    { "text", SVG("<text x=\"1\">a &amp; b &#960; \\pi</text>") },
    { "a style sheet",
      SVG("<style type=\"text/css\">*{fill:url(#g)}</style>") },
    { "a gradient of its own",
      SVG("<linearGradient id=\"g\"/><rect fill=\"url(#g)\"/>") },
    { "a part that is used again",
      SVG("<defs><path id=\"p\"/></defs><use xlink:href=\"#p\"/>") },
    { "a bitmap inside",
      SVG("<image xlink:href=\"data:image/png;base64,\nAAAA\"/>") },
    { "what Matplotlib says of it",
      "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n"
      "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\"\n \"http://www.w3.org/"
      "Graphics/SVG/1.1/DTD/svg11.dtd\">\n" NS
      "<metadata><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf\">"
      "<cc:Work><dc:type rdf:resource=\"http://purl.org/dc/dcmitype/\"/>"
      "</cc:Work></rdf:RDF></metadata><!-- Sales & costs --></svg>" },
};

static const struct {
    const char *what, *text;
} actors[] = {
    { "a script", SVG("<script>alert(1)</script>") },
    { "a script of another name", SVG("<x:script xmlns:x=\"a\"/>") },
    { "a script in capitals", SVG("<SCRIPT>alert(1)</SCRIPT>") },
    { "an event", SVG("<rect onclick=\"x()\"/>") },
    { "an event in capitals", SVG("<rect ONLOAD='x()'/>") },
    { "HTML", SVG("<foreignObject><p/></foreignObject>") },
    { "an image's HTML", SVG("<img src=x onerror=alert(1)>") },
    { "a link", SVG("<a xlink:href=\"javascript:x()\"><text/></a>") },
    { "an animation that sets an address",
      SVG("<use><set attributeName=\"href\" to=\"javascript:x()\"/></use>") },
    { "an image from elsewhere", SVG("<image href=\"http://a/b.png\"/>") },
    { "one without a scheme", SVG("<image href=\"//a/b.png\"/>") },
    { "one of a prefix", SVG("<image x:HREF=\"http://a/b.png\"/>") },
    { "another SVG inside",
      SVG("<image href=\"data:image/svg+xml;base64,AA\"/>") },
    { "a part of another", SVG("<use href=\"http://a/b.svg#c\"/>") },
    { "a base", SVG("<g xml:base=\"http://a/\"><use href=\"#p\"/></g>") },
    { "a filter's image", SVG("<feImage href=\"#a\"/>") },
    { "a style sheet that imports", SVG("<style>@import 'http://a';</style>") },
    { "a font from elsewhere", SVG("<style>*{fill:url(http://a/#x)}</style>") },
    { "in capitals", SVG("<rect style=\"fill:URL(//a)\"/>") },
    { "behind a quote", SVG("<rect fill=\"url('http://a#x')\"/>") },
    { "in CSS's own writing", SVG("<style>*{fill:u\\72l(//a)}</style>") },
    { "by its number", SVG("<rect fill=\"&#117;rl(http://a)\"/>") },
    { "by its number in CSS", SVG("<style>*{fill:&#117;rl(//a)}</style>") },
    { "of a set", SVG("<rect style=\"fill:image-set('http://a' 1x)\"/>") },
    { "by its number as an address", SVG("<use href=\"&#104;ttp://a\"/>") },
    { "a style sheet of its own",
      "<?xml-stylesheet href=\"http://a\"?>" SVG("") },
    { "one inside", SVG("<?xml-stylesheet href=\"http://a\"?>") },
    { "an entity", "<!DOCTYPE svg [<!ENTITY a \"<script/>\">]>" SVG("&a;") },
    { "another encoding",
      "<?xml version=\"1.0\" encoding=\"utf-7\"?>" SVG("") },
    { "CDATA", SVG("<style><![CDATA[</style><script>]]></style>") },
    { "a comment that ends early in HTML", SVG("<!--> <script/> -->") },
    { "a comment that ends otherwise", SVG("<!-- --!><script/> -->") },
    { "a comment without end", SVG("<!-- ") },
    { "a tag without end", NS "<rect" },
    { "a value without end", NS "<rect fill=\"a" },
    { "a value without quotes", SVG("<rect fill=a/onload=x() />") },
    { "a < in a value", SVG("<rect fill=\"<script>\"/>") },
    { "an attribute without value", SVG("<rect onload/>") },
    { "a slash between", SVG("<rect/onload=\"x()\"/>") },
    { "an end with an attribute", SVG("<g></g onload=\"x()\">") },
    { "no name", SVG("< script/>") },
    { "bytes that are not UTF-8", SVG("\xff") },
    { "nothing", "" },
};

static bool is_active(const char *text)
{
    return content_is_active(VIEW("image/svg+xml"), view_of(text));
}

static void a_drawing_is_passive(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(drawings) / sizeof(drawings[0]); i++)
        if (is_active(drawings[i].text))
            fail_msg("%s is active", drawings[i].what);
}

static void what_acts_is_active(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(actors) / sizeof(actors[0]); i++)
        if (!is_active(actors[i].text))
            fail_msg("%s is passive", actors[i].what);
    assert_true(content_is_active(VIEW("image/svg+xml"),
                                  (struct view){ NS "\0</svg>", 47 }));
}

/* Wherever it is cut, it is read to its end and no further. */
static void a_cut_is_read_no_further(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(drawings) / sizeof(drawings[0]); i++)
        for (size_t len = 1; len < strlen(drawings[i].text); len++) {
            char *copy = malloc(len);
            assert_non_null(copy);
            memcpy(copy, drawings[i].text, len);
            content_is_active(VIEW("image/svg+xml"),
                              (struct view){ copy, len });
            free(copy);
        }
}

static void a_type_that_is_run_is_active(void **state)
{
    static const char *const passive[] = { "image/png", "text/plain",
                                           "application/json" };
    static const char *const active[] = {
        "text/html",
        "application/javascript",
        "application/xhtml+xml",
        "text/xml",
        "application/pdf",
        "text/markdown",
        "image/heic",
        "x/y",
        "IMAGE/PNG",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(passive) / sizeof(passive[0]); i++)
        assert_false(content_is_active(view_of(passive[i]), VIEW("x")));
    for (size_t i = 0; i < sizeof(active) / sizeof(active[0]); i++)
        assert_true(content_is_active(view_of(active[i]), VIEW("x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drawing_is_passive),
        cmocka_unit_test(what_acts_is_active),
        cmocka_unit_test(a_cut_is_read_no_further),
        cmocka_unit_test(a_type_that_is_run_is_active),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
