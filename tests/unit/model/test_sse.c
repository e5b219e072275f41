/* test_sse.c - server-sent events, whole and in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/sse.h"

/* Events are written down as "name|data;" to compare them as text. */
static bool note_event(void *owner, struct view name, struct view data)
{
    struct buf *seen = owner;

    buf_printf(seen, "%.*s|%.*s;", VIEW_ARG(name), VIEW_ARG(data));
    return !view_is(data, "stop");
}

static const struct row {
    const char *name;
    const char *bytes;
    const char *seen;
} rows[] = {
    { "a blank line ends an event", "data: a\n\n", "|a;" },
    { "CRLF ends lines", "data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;" },
    { "CRLF is one line end", "data: a\r\ndata: b\r\n\r\n", "|a\nb;" },
    { "CR ends lines", "data: a\r\rdata: b\r\r", "|a;|b;" },
    { "line ends are mixed", "data: a\r\n\ndata: b\n\r\n", "|a;|b;" },
    { "one space after the colon is dropped", "data:  a\n\n", "| a;" },
    { "the space may be missing", "data:a\n\n", "|a;" },
    { "data lines are joined", "data: a\ndata: b\n\n", "|a\nb;" },
    { "an empty data line counts", "data: a\ndata:\ndata\n\n", "|a\n\n;" },
    { "data may be empty", "data:\n\n", "|;" },
    { "comments are skipped", ": hi\n\n:\ndata: a\n: x\n\n", "|a;" },
    { "an event may have a name", "event: error\ndata: a\n\n", "error|a;" },
    { "a name lasts for one event", "event: x\ndata: a\n\ndata: b\n\n",
      "x|a;|b;" },
    { "a name without data is no event", "event: x\n\ndata: a\n\n", "|a;" },
    { "other fields are ignored", "id: 7\nretry: 9\nfoo\ndata: a\n\n", "|a;" },
    { "blank lines alone are nothing", "\n\r\n\n\r", "" },
    { "the last event may lack its blank line", "data: a\n\ndata: b\n",
      "|a;|b;" },
    { "the last line may lack its end", "data: a", "|a;" },
    { "U+2028, U+0085 do not end lines", "data: a\xE2\x80\xA8\xC2\x85z\n\n",
      "|a\xE2\x80\xA8\xC2\x85z;" },
    { "after a stop nothing is read", "data: stop\n\ndata: a\n\n", "|stop;" },
    { "a colon may be in the data", "data: a: b\n\n", "|a: b;" },
    { "long names are cut",
      "event: 0123456789012345678901234567890123456789"
      "012345678901234567890123456789\ndata: a\n\n",
      "0123456789012345678901234567890123456789012345678901234567890123|a;" },
};

static void feed_in_pieces(struct sse *sse, struct view bytes, size_t size)
{
    while (bytes.len > 0) {
        struct view piece = { bytes.data, size < bytes.len ? size : bytes.len };

        sse_feed(sse, piece);
        bytes.data += piece.len;
        bytes.len -= piece.len;
    }
    sse_end(sse);
}

static void check_row(const struct row *row, size_t size)
{
    struct buf seen;
    struct sse sse;

    buf_init(&seen, 4096);
    sse_init(&sse, note_event, &seen);
    feed_in_pieces(&sse, view_of(row->bytes), size);
    if (!view_is(buf_view(&seen), row->seen))
        fail_msg("%s, in pieces of %zu: \"%.*s\"", row->name, size,
                 VIEW_ARG(buf_view(&seen)));
    sse_finish(&sse);
    buf_finish(&seen);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t size = 1; size <= strlen(rows[i].bytes); size++)
            check_row(&rows[i], size);
}

static void test_a_line_without_end_is_given_up(void **state)
{
    static char piece[1 << 16];
    struct buf seen;
    struct sse sse;
    size_t fed = 0;

    (void)state;
    memset(piece, 'x', sizeof(piece));
    buf_init(&seen, 64);
    sse_init(&sse, note_event, &seen);
    while (sse_feed(&sse, (struct view){ piece, sizeof(piece) }))
        fed += sizeof(piece);
    assert_true(sse_overflow(&sse));
    assert_true(fed <= SSE_MAX_LINE);
    assert_false(sse_end(&sse));
    sse_finish(&sse);
    buf_finish(&seen);
}

static void test_an_event_of_many_lines_is_given_up(void **state)
{
    char line[1024] = "data: ";
    struct buf seen;
    struct sse sse;
    size_t lines = 0;

    (void)state;
    memset(line + 6, 'x', sizeof(line) - 7);
    line[sizeof(line) - 1] = '\n';
    buf_init(&seen, 64);
    sse_init(&sse, note_event, &seen);
    while (sse_feed(&sse, (struct view){ line, sizeof(line) }))
        lines++;
    assert_true(sse_overflow(&sse));
    assert_in_range(lines, 4000, 4200);
    assert_int_equal(seen.len, 0);
    sse_finish(&sse);
    buf_finish(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_a_line_without_end_is_given_up),
        cmocka_unit_test(test_an_event_of_many_lines_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
