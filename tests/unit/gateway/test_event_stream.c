/* test_event_stream.c - events byte by byte, and what would be two of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/http/event_stream.h"

static void is_sent_as(struct http_bytes *bytes, const char *text)
{
    assert_non_null(bytes);
    struct view sent = http_bytes_view(bytes);
    assert_int_equal(sent.len, strlen(text));
    assert_memory_equal(sent.data, text, sent.len);
    http_bytes_free(bytes);
}

static void events_are_written(void **state)
{
    (void)state;
    is_sent_as(event_stream_event(VIEW("a"), VIEW("{}"), NULL),
               "event: a\ndata: {}\n\n");
    is_sent_as(event_stream_event(VIEW(""), VIEW("{}"), NULL), "data: {}\n\n");
    is_sent_as(event_stream_numbered(UINT64_MAX, VIEW("a"), VIEW(""), NULL),
               "id: 18446744073709551615\nevent: a\ndata: \n\n");
    is_sent_as(event_stream_comment(), ": k\n\n");
    is_sent_as(event_stream_done(), "data: [DONE]\n\n");
}

static void a_field_is_one_line(void **state)
{
    static const char bad[] = { '\r', '\n', '\0' };

    (void)state;
    for (size_t i = 0; i < sizeof(bad); i++)
        for (size_t at = 0; at < 3; at++) {
            char text[] = "abc";
            struct view field = { text, 3 };
            struct err err = { 0 };

            text[at] = bad[i];
            assert_null(event_stream_event(field, VIEW("{}"), &err));
            assert_non_null(strstr(err.text, "the type of an event"));
            assert_null(event_stream_numbered(1, VIEW("a"), field, &err));
            assert_non_null(strstr(err.text, "the data of an event"));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_written),
        cmocka_unit_test(a_field_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
