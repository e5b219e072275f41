/* test_blob.c - names, sizes and types of bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "consumer/blob.h"

#define JPEG "\xff\xd8\xff\xe0\x00\x04JF\xff\xc4\x00\x02"
#define PNG "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"

static void test_name(void **state)
{
    (void)state;
    char name[BLOB_NAME_LEN + 1];
    blob_name(VIEW("abc"), name);
    assert_string_equal(name, "ba7816bf8f01cfea414140de5dae2223"
                              "b00361a396177a9cb410ff61f20015ad");
}

static void test_sizes(void **state)
{
    const struct {
        const char *what;
        struct view bytes;
        uint64_t width, height; /* 0: none */
    } rows[] = {
        { "a PNG", VIEW(PNG "\0\0\x02\x80\0\0\x01\xe0"), 640, 480 },
        { "a PNG that is cut", VIEW(PNG "\0\0\x02\x80\0\0\x01"), 0, 0 },
        { "a JPEG behind other segments",
          VIEW(JPEG "\xff\xc2\x00\x0b\x08\x00\x20\x00\x10\x01"), 16, 32 },
        { "a JPEG without a size", VIEW(JPEG), 0, 0 },
        { "a JPEG whose segment leads astray", VIEW("\xff\xd8\xff\xe0\xff\xff"),
          0, 0 },
        { "a PNG without width", VIEW(PNG "\0\0\0\0\0\0\x01\xe0"), 0, 0 },
        { "a PNG that is too wide", VIEW(PNG "\xff\xff\xff\xff\0\0\0\1"), 0,
          0 },
        { "a PNG of too many pixels", VIEW(PNG "\0\0\x40\0\0\0\x20\0"), 0, 0 },
        { "text", VIEW("<svg width='1'/> and more of it"), 0, 0 },
        { "nothing", VIEW(""), 0, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t width = 0;
        uint64_t height = 0;
        bool known = image_size(rows[i].bytes, &width, &height);
        if (known != (rows[i].width != 0) || width != rows[i].width ||
            height != rows[i].height)
            fail_msg("%s: %d, %d by %d", rows[i].what, known, (int)width,
                     (int)height);
    }
}

static void test_types(void **state)
{
    (void)state;
    assert_true(view_is(mime_of(VIEW("a.csv")), "text/csv"));
    assert_true(view_is(mime_of(VIEW("A.PNG")), "image/png"));
    assert_true(view_is(mime_of(VIEW("a.tar.gz")), "application/gzip"));
    assert_true(view_is(mime_of(VIEW(".csv")), "application/octet-stream"));
    assert_true(view_is(mime_of(VIEW("csv")), "application/octet-stream"));
    assert_true(view_is(mime_of(VIEW("")), "application/octet-stream"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
