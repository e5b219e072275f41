/* test_glyph.c - a reader sees every character of what others have written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schemas/message/glyph.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* As a name, as code and as prose; NULL: as the one before. */
static const struct {
    const char *what, *text, *name, *code, *prose;
} rows[] = {
    { "plain text", "a b", "a b", NULL, NULL },
    { "nothing", "", "", NULL, NULL },
    { "letters of other scripts", "Ünï 中 שלום", "Ünï 中 שלום", NULL, NULL },
    { "a no-break space", "a\u00a0b", "a\u00a0b", NULL, NULL },
    { "lines and tabs", "a\n\tb", "a<U+000A><U+0009>b", "a\n\tb", NULL },
    { "a colour", "\033[31m", "<U+001B>[31m", NULL, NULL },
    { "DEL", "\177", "<U+007F>", NULL, NULL },
    { "CSI as one character",
      "\xc2\x9b"
      "31m",
      "<U+009B>31m", NULL, NULL },
    { "CSI as one byte", "\x9b\x31m", "<9B>1m", NULL, NULL },
    { "half a character", "a\xc2", "a<C2>", NULL, NULL },
    { "an overlong line feed", "\xc0\x8a", "<C0><8A>", NULL, NULL },
    { "an end of a line from Windows", "a\r\nb", "a<U+000D><U+000A>b", "a\nb",
      NULL },
    { "a progress bar", "1%\r2%", "1%<U+000D>2%", NULL, "1%2%" },
    { "Python after a comment", "# fine\rrm()", "# fine<U+000D>rm()", NULL,
      "# finerm()" },
    /* Every kind of character that hides. */
    { "embedding", "\u202a\u202b\u202c", "<U+202A><U+202B><U+202C>", NULL,
      NULL },
    { "override", "\u202d\u202e", "<U+202D><U+202E>", NULL, NULL },
    { "isolates", "\u2066\u2067\u2068\u2069",
      "<U+2066><U+2067><U+2068><U+2069>", NULL, NULL },
    { "marks of direction", "\u200e\u200f\u061c", "<U+200E><U+200F><U+061C>",
      NULL, NULL },
    { "a zero width space", "pass\u200bword", "pass<U+200B>word", NULL, NULL },
    { "joiners between letters of Latin", "a\u200cb\u200dc",
      "a<U+200C>b<U+200D>c", NULL, NULL },
    { "separators of lines and paragraphs", "\u2028\u2029", "<U+2028><U+2029>",
      NULL, NULL },
    { "invisible operators", "f\u2061(x)\u2062\u2063\u2064\u2060",
      "f<U+2061>(x)<U+2062><U+2063><U+2064><U+2060>", NULL, NULL },
    { "a byte order mark", "\ufeff", "<U+FEFF>", NULL, NULL },
    { "a soft hyphen", "a\u00adb", "a<U+00AD>b", NULL, NULL },
    { "fillers", "\u115f\u3164\uffa0\u034f", "<U+115F><U+3164><U+FFA0><U+034F>",
      NULL, NULL },
    { "a note without a head", "\U0001d159", "<U+1D159>", NULL, NULL },
    { "what stands for an object", "a\ufffc", "a<U+FFFC>", NULL, NULL },
    { "a joiner of hieroglyphs", "a\U00013430", "a<U+13430>", NULL, NULL },
    { "a second selector behind Han", "葛\U000e0100\U000e0101",
      "葛<U+E0100><U+E0101>", NULL, "葛\U000e0100<U+E0101>" },
    { "tags", "\U0001f600\U000e0068\U000e0069\U000e007f",
      "\U0001f600<U+E0068><U+E0069><U+E007F>", NULL, NULL },
    { "selectors that hold a message", "\U0001f600\ufe03\U000e0152",
      "\U0001f600<U+FE03><U+E0152>", NULL, NULL },
    /* What languages and emoji need stays in prose. */
    { "Persian", "می\u200cخواهم", "می<U+200C>خواهم", NULL, "می\u200cخواهم" },
    { "Hindi", "क्\u200dष", "क्<U+200D>ष", NULL, "क्\u200dष" },
    { "a family", "👩\u200d👩\u200d👧", "👩<U+200D>👩<U+200D>👧", NULL,
      "👩\u200d👩\u200d👧" },
    { "a rainbow flag", "🏳\ufe0f\u200d🌈", "🏳<U+FE0F><U+200D>🌈",
      NULL, "🏳\ufe0f\u200d🌈" },
    { "a heart", "\u2764\ufe0f", "\u2764<U+FE0F>", NULL, "\u2764\ufe0f" },
    { "a key", "1\ufe0f\u20e3", "1<U+FE0F>\u20e3", NULL, "1\ufe0f\u20e3" },
    { "Mongolian", "\u1820\u180b", "\u1820<U+180B>", NULL, "\u1820\u180b" },
    { "a name in Han", "葛\U000e0100", "葛<U+E0100>", NULL, "葛\U000e0100" },
    /* But not more of it. */
    { "a second joiner", "می\u200c\u200d", "می<U+200C><U+200D>", NULL,
      "می\u200c<U+200D>" },
    { "a second selector", "\u2764\ufe0f\ufe0f\ufe0e",
      "\u2764<U+FE0F><U+FE0F><U+FE0E>", NULL, "\u2764\ufe0f<U+FE0F><U+FE0E>" },
    { "a selector behind a letter", "a\ufe0f", "a<U+FE0F>", NULL, NULL },
    { "a joiner behind what was hidden", "م\u202e\u200c", "م<U+202E><U+200C>",
      NULL, NULL },
    { "a joiner at the beginning", "\u200cم", "<U+200C>م", NULL, NULL },
};

static void what_shows_nothing_is_blank(void **state)
{
    static const char *const blank[] = { "", " \t\n", "\u00a0\u2003\u3000",
                                         "\u200b\u2060\ufeff", "\u202e\ufe0f" };
    static const char *const seen[] = { "a", "\u00a0.", "\x9b", "\u2800" };

    (void)state;
    for (size_t i = 0; i < COUNT(blank); i++)
        assert_true(glyph_is_blank(view_of(blank[i])));
    for (size_t i = 0; i < COUNT(seen); i++)
        assert_false(glyph_is_blank(view_of(seen[i])));
}

static void check(const char *text, enum glyph_use reading, const char *shown)
{
    CLEANUP(buf_finish) struct buf out;

    buf_init(&out, 1 << 10);
    glyph_add(&out, view_of(text), reading);
    buf_append(&out, "", 1);
    assert_string_equal(out.data, shown);
}

static void what_is_hidden_is_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *code = rows[i].code ? rows[i].code : rows[i].name;

        print_message("%s\n", rows[i].what);
        check(rows[i].text, READ_NAME, rows[i].name);
        check(rows[i].text, READ_CODE, code);
        check(rows[i].text, READ_PROSE, rows[i].prose ? rows[i].prose : code);
    }
}

static void json_keeps_its_value(void **state)
{
    CLEANUP(buf_finish) struct buf out;

    (void)state;
    buf_init(&out, 1 << 10);
    glyph_add_json(&out,
                   view_of("{\"a\": \"é\u202e\U000e0041\177\",\n\"\": 1}"));
    buf_append(&out, "", 1);
    assert_string_equal(out.data,
                        "{\"a\": \"é\\u202e\\udb40\\udc41\\u007f\",\n\"\": 1}");
}

static void a_saved_name_is_what_it_looks_like(void **state)
{
    static const struct {
        const char *name, *saved;
    } names[] = {
        { "chart.png", "chart.png" },
        { "é 中.csv", "é 中.csv" },
        { "gpj\u202e.exe", "gpj_.exe" },
        { "a\u200bb\ufeff", "a_b_" },
        { "a\xc2\x9b"
          "2J",
          "a_2J" },
        { "a\nb\177", "a_b_" },
        { "-rf", "_rf" },
        { "--", "_-" },
        { "\u200b-rf", "_-rf" },
        { ".", "_" },
        { "..", "_." },
        { ".bashrc", ".bashrc" },
        { "a\x9b", "a_" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        CLEANUP(buf_finish) struct buf out;

        buf_init(&out, 1 << 10);
        glyph_add_name(&out, view_of(names[i].name));
        buf_append(&out, "", 1);
        print_message("%s\n", names[i].saved);
        assert_string_equal(out.data, names[i].saved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shows_nothing_is_blank),
        cmocka_unit_test(what_is_hidden_is_shown),
        cmocka_unit_test(json_keeps_its_value),
        cmocka_unit_test(a_saved_name_is_what_it_looks_like),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
