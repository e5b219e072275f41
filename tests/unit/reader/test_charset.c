/* Bytes in some encoding, as UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/reader/charset.h"

/* What it shows, the bytes, the Content-Type, the text. */
static const struct {
    const char *name;
    struct view bytes;
    const char *type, *text;
} rows[] = {
    { "nothing", VIEW_INIT(""), "", "" },
    { "UTF-8 that nobody names", VIEW_INIT("a\xc3\xa9"), "text/html", "aé" },
    { "bytes that are not UTF-8", VIEW_INIT("caf\xe9 \x80"), "", "café €" },
    { "UTF-8 with a bad byte", VIEW_INIT("a\xff"), "text/html; charset=utf-8",
      "a\xef\xbf\xbd" },
    { "latin-1 means windows-1252", VIEW_INIT("\x93x\x94"),
      "text/html; charset=ISO-8859-1", "“x”" },
    { "GB2312 means GB18030", VIEW_INIT("\xc4\xe3\x81\x30\x81\x30"),
      "text/html;charset=gb2312", "你\xc2\x80" },
    { "quoted", VIEW_INIT("\xc4\xe3"), "text/html; charset=\"GBK\"", "你" },
    { "big5", VIEW_INIT("\xa7\x41"), "text/html; charset=Big5", "你" },
    { "Shift_JIS", VIEW_INIT("\x93\xfa"), "text/html; charset=Shift_JIS",
      "日" },
    { "EUC-KR", VIEW_INIT("\xc7\xd1"), "text/html; charset=euc-kr", "한" },
    { "KOI8-R", VIEW_INIT("\xcd"), "text/html; charset=koi8-r", "м" },
    { "half a character at the end", VIEW_INIT("\xc4\xe3\xc4"),
      "text/html; charset=gbk", "你\xef\xbf\xbd" },
    { "a bad one in the middle",
      VIEW_INIT("a\xff"
                "b"),
      "text/html; charset=gbk",
      "a\xef\xbf\xbd"
      "b" },
    { "a mark of UTF-8 wins", VIEW_INIT("\xef\xbb\xbf\xc3\xa9"),
      "text/html; charset=gbk", "é" },
    { "a mark of UTF-16",
      VIEW_INIT("\xff\xfe"
                "a\0\x2d\x4e"),
      "", "a中" },
    { "the other one", VIEW_INIT("\xfe\xff\0a\x4e\x2d"), "", "a中" },
    { "an encoding that nobody knows", VIEW_INIT("\xc3\xa9"),
      "text/html; charset=ISO-2022-CN-EXT", "é" },
    { "a path as encoding", VIEW_INIT("a"), "text/html; charset=../../x", "a" },
    { "meta", VIEW_INIT("<meta charset=gbk>\xc4\xe3"), "text/html",
      "<meta charset=gbk>你" },
    { "the older meta",
      VIEW_INIT("<META http-equiv=x content='text/html; charset=gbk'>\xc4\xe3"),
      "text/html", "<META http-equiv=x content='text/html; charset=gbk'>你" },
    { "a header wins over meta", VIEW_INIT("<meta charset=gbk>\xc3\xa9"),
      "text/html; charset=utf-8", "<meta charset=gbk>é" },
    { "the word outside of meta", VIEW_INIT("<p>charset=gbk</p>\xc3\xa9"),
      "text/html", "<p>charset=gbk</p>é" },
    { "meta cannot be in UTF-16", VIEW_INIT("<meta charset=utf-16>\xc3\xa9"),
      "text/html", "<meta charset=utf-16>é" },
    { "a meta without end", VIEW_INIT("<meta charset="), "text/html",
      "<meta charset=" },
};

static void text_is_utf8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf out;
        buf_init(&out, 4096);
        charset_decode(rows[i].bytes, rows[i].type, true, &out);
        if (!view_is(buf_view(&out), rows[i].text))
            fail_msg("%s: %.*s", rows[i].name, VIEW_ARG(buf_view(&out)));
    }
}

static void only_html_has_meta(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf out;
    buf_init(&out, 4096);
    charset_decode(VIEW("<meta charset=gbk>\xc3\xa9"), "", false, &out);
    assert_true(view_is(buf_view(&out), "<meta charset=gbk>é"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_utf8),
        cmocka_unit_test(only_html_has_meta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
