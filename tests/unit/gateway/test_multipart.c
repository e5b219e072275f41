/* test_multipart.c - forms as clients send them, and malformed ones, in pieces
 * of every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/http/multipart.h"

#define TYPE "multipart/form-data; boundary=B"
#define PART "Content-Disposition: form-data; name=\"a\""
#define ONE(body) "--B\r\n" PART "\r\n\r\n" body

static void on_part(void *owner, const struct multipart_part *part)
{
    buf_printf(owner, "[%.*s|%.*s|%.*s]", VIEW_ARG(part->name),
               VIEW_ARG(part->file), VIEW_ARG(part->type));
}

static void on_data(void *owner, struct view piece)
{
    buf_add(owner, piece);
}

static void on_part_end(void *owner)
{
    buf_append(owner, ";", 1);
}

static const struct multipart_events events = { on_part, on_data, on_part_end };

/* What was seen, or the error. */
static void read_form(struct buf *seen, const char *type, const char *body,
                      size_t size)
{
    struct multipart form;
    struct err err = { 0 };
    size_t len = strlen(body);
    bool good = multipart_init(&form, view_of(type), &events, seen, &err);

    for (size_t at = 0; good && at < len; at += size) {
        size_t left = len - at < size ? len - at : size;
        good = multipart_feed(&form, (struct view){ body + at, left }, &err);
    }
    if (!good || !multipart_end(&form, &err)) {
        buf_clear(seen);
        buf_printf(seen, "%s", err.text);
    }
    multipart_finish(&form);
}

static const struct {
    const char *type, *body, *seen; /* seen: or a part of the error */
} rows[] = {
    { TYPE, ONE("x\r\n--B--\r\n"), "[a||]x;" },
    { TYPE, ONE("x\r\n--B--"), "[a||]x;" },
    { TYPE, ONE("\r\n--B--"), "[a||];" },
    { TYPE, ONE("x\r\n--B\r\n" PART "\r\n\r\ny\r\n--B--"), "[a||]x;[a||]y;" },
    { TYPE, ONE("\r\r\n\r\n-\r\n--\r\n--A\r\n--\r\n--B--"),
      "[a||]\r\r\n\r\n-\r\n--\r\n--A\r\n--;" },
    { TYPE, ONE("x--B--\r\n--B--"), "[a||]x--B--;" },
    { TYPE,
      "--B\r\nContent-Type: text/csv\r\ncontent-disposition: form-data; "
      "name=f; filename=\"a \\\"b\\\";.csv\"\r\n\r\n1\r\n--B--",
      "[f|a \"b\";.csv|text/csv]1;" },
    { "Multipart/Form-Data; charset=utf-8; Boundary=\"B\"", ONE("x\r\n--B--"),
      "[a||]x;" },
    { "text/plain; boundary=B", "", "not multipart/form-data" },
    { "multipart/form-data", "", "no boundary" },
    { TYPE "; boundary=C", "", "twice" },
    { "multipart/form-data; boundary=\"a\r\"", "", "its boundary is not" },
    { "multipart/form-data; boundary=\"B", "", "malformed parameter" },
    { TYPE, "", "before its last delimiter" },
    { TYPE, "\r\n" ONE("x\r\n--B--"), "does not begin with its boundary" },
    { TYPE, ONE("x\r\n--B-"), "before its last delimiter" },
    { TYPE, ONE("x\r\n--B--\r"), "before its last delimiter" },
    { TYPE, ONE("x\r\n--Bx"), "do not belong there" },
    { TYPE, ONE("x\r\n--B \r\n"), "do not belong there" },
    { TYPE, ONE("x\r\n--B--\r\nmore"), "do not belong there" },
    { TYPE, "--B\r\n\r\n\r\nx\r\n--B--", "malformed line" },
    { TYPE, "--B\r\nA: b\r\n\r\nx\r\n--B--", "no Content-Disposition" },
    { TYPE, "--B\r\n" PART "\n\n\r\n\r\nx\r\n--B--", "malformed line" },
    { TYPE, "--B\r\n" PART "\r\n" PART "\r\n\r\n\r\n--B--", "has not one" },
    { TYPE, "--B\r\n" PART "; name=b\r\n\r\n\r\n--B--", "there twice" },
    { TYPE, "--B\r\n" PART "; filename=\"\xff\"\r\n\r\n\r\n--B--", "line" },
    { TYPE, "--B\r\n" PART "; filename*=utf-8''a\r\n\r\n\r\n--B--",
      "\"filename*\" is not allowed" },
    { TYPE, "--B\r\nContent-Disposition: form-data; filename=a\r\n\r\n",
      "no name" },
};

static void forms_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t size = 1; size < 100; size++) {
            CLEANUP(buf_finish) struct buf seen = { .max = 4096 };
            read_form(&seen, rows[i].type, rows[i].body, size);
            buf_append(&seen, "", 1);
            if (!strstr(seen.data, rows[i].seen))
                fail_msg("row %zu in pieces of %zu: %s", i, size, seen.data);
        }
}

static void heads_and_parts_are_bounded(void **state)
{
    CLEANUP(buf_finish) struct buf body = { .max = 1 << 20 };
    CLEANUP(buf_finish) struct buf seen = { .max = 1 << 20 };

    (void)state;
    for (int i = 0; i < MULTIPART_MAX_PARTS + 1; i++)
        buf_add(&body, VIEW(ONE("\r\n")));
    buf_append(&body, "", 1);
    read_form(&seen, TYPE, body.data, 1000);
    buf_append(&seen, "", 1);
    assert_non_null(strstr(seen.data, "more than 100 parts"));
    buf_clear(&body);
    buf_clear(&seen);
    buf_printf(&body, "--B\r\nA: %*d\r\n\r\n", MULTIPART_MAX_HEAD, 1);
    read_form(&seen, TYPE, body.data, 1000);
    buf_append(&seen, "", 1);
    assert_non_null(strstr(seen.data, "more than 8 KiB"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_read),
        cmocka_unit_test(heads_and_parts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
