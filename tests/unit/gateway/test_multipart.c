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
static void read_form(struct buf *seen, const char *type, struct view body,
                      size_t size)
{
    struct multipart form;
    struct err err = { 0 };
    bool good = multipart_init(&form, view_of(type), &events, seen, &err);

    for (size_t at = 0; good && at < body.len; at += size) {
        size_t left = body.len - at < size ? body.len - at : size;
        good =
            multipart_feed(&form, (struct view){ body.data + at, left }, &err);
    }
    if (!good || !multipart_end(&form, &err)) {
        buf_clear(seen);
        buf_printf(seen, "%s", err.text);
    }
    multipart_finish(&form);
}

#define READ_AS(type, body, seen)                                              \
    {                                                                          \
        type, VIEW_INIT(body), VIEW_INIT(seen)                                 \
    }
#define REFUSED_AS(type, body, error)                                          \
    {                                                                          \
        type, VIEW_INIT(body), error                                           \
    }

/* What each must be read as, byte by byte; bytes may be NUL. */
static const struct {
    const char *type;
    struct view body, seen;
} forms[] = {
    READ_AS(TYPE, ONE("x\r\n--B--\r\n"), "[a||]x;"),
    READ_AS(TYPE, ONE("x\r\n--B--"), "[a||]x;"),
    READ_AS(TYPE, ONE("\r\n--B--"), "[a||];"),
    READ_AS(TYPE, ONE("x\r\n--B\r\n" PART "\r\n\r\ny\r\n--B--"),
            "[a||]x;[a||]y;"),
    READ_AS(TYPE, ONE("\r\r\n\r\n-\r\n--\r\n--A\r\n--\r\n--B--"),
            "[a||]\r\r\n\r\n-\r\n--\r\n--A\r\n--;"),
    READ_AS(TYPE, ONE("x--B--\r\n--B--"), "[a||]x--B--;"),
    READ_AS(TYPE,
            "--B\r\nContent-Type: text/csv\r\ncontent-disposition: form-data; "
            "name=f; filename=\"a \\\"b\\\";.csv\"\r\n\r\n1\r\n--B--",
            "[f|a \"b\";.csv|text/csv]1;"),
    READ_AS(TYPE, ONE("\0x\0\r\n--B--"), "[a||]\0x\0;"),
    READ_AS(TYPE, ONE("x\r\0\n--\0B\r\n--B--"), "[a||]x\r\0\n--\0B;"),
    READ_AS("Multipart/Form-Data; charset=utf-8; Boundary=\"B\"",
            ONE("x\r\n--B--"), "[a||]x;"),
};

static const struct {
    const char *type;
    struct view body;
    const char *error; /* a part of it */
} malformed[] = {
    REFUSED_AS("text/plain; boundary=B", "", "not multipart/form-data"),
    REFUSED_AS("multipart/form-data", "", "no boundary"),
    REFUSED_AS(TYPE "; boundary=C", "", "twice"),
    REFUSED_AS("multipart/form-data; boundary=\"a\r\"", "",
               "its boundary is not"),
    REFUSED_AS("multipart/form-data; boundary=\"B", "", "malformed parameter"),
    REFUSED_AS(TYPE, "", "before its last delimiter"),
    REFUSED_AS(TYPE, "\r\n" ONE("x\r\n--B--"),
               "does not begin with its boundary"),
    REFUSED_AS(TYPE, ONE("x\r\n--B-"), "before its last delimiter"),
    REFUSED_AS(TYPE, ONE("x\r\n--B--\r"), "before its last delimiter"),
    REFUSED_AS(TYPE, ONE("x\r\n--Bx"), "do not belong there"),
    REFUSED_AS(TYPE, ONE("x\r\n--B \r\n"), "do not belong there"),
    REFUSED_AS(TYPE, ONE("x\r\n--B--\r\nmore"), "do not belong there"),
    REFUSED_AS(TYPE, "--B\r\n\r\n\r\nx\r\n--B--", "malformed line"),
    REFUSED_AS(TYPE, "--B\r\nA: b\r\n\r\nx\r\n--B--", "no Content-Disposition"),
    REFUSED_AS(TYPE, "--B\r\n" PART "\n\n\r\n\r\nx\r\n--B--", "malformed line"),
    REFUSED_AS(TYPE, "--B\r\n" PART "\r\n" PART "\r\n\r\n\r\n--B--",
               "has not one"),
    REFUSED_AS(TYPE, "--B\r\n" PART "; name=b\r\n\r\n\r\n--B--", "there twice"),
    REFUSED_AS(TYPE, "--B\r\n" PART "; filename=\"\xff\"\r\n\r\n\r\n--B--",
               "line"),
    REFUSED_AS(TYPE, "--B\r\n" PART "; filename*=utf-8''a\r\n\r\n\r\n--B--",
               "\"filename*\" is not allowed"),
    REFUSED_AS(TYPE,
               "--B\r\nContent-Disposition: form-data; filename=a\r\n\r\n",
               "no name"),
    REFUSED_AS(TYPE, "--B\0\r\n" PART "\r\n\r\nx\r\n--B--",
               "do not belong there"),
    REFUSED_AS(TYPE, "--B\r\nA\0: b\r\n" PART "\r\n\r\nx\r\n--B--",
               "malformed line"),
};

static void forms_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        for (size_t size = 1; size < 100; size++) {
            CLEANUP(buf_finish) struct buf seen = { .max = 4096 };
            read_form(&seen, forms[i].type, forms[i].body, size);
            if (!view_equal(buf_view(&seen), forms[i].seen))
                fail_msg("form %zu in pieces of %zu: %.*s", i, size,
                         VIEW_ARG(buf_view(&seen)));
        }
}

static bool says(const struct buf *seen, const char *text)
{
    return memmem(seen->data, seen->len, text, strlen(text)) != NULL;
}

static void malformed_forms_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        for (size_t size = 1; size < 100; size++) {
            CLEANUP(buf_finish) struct buf seen = { .max = 4096 };
            read_form(&seen, malformed[i].type, malformed[i].body, size);
            if (!says(&seen, "the multipart body: ") ||
                !says(&seen, malformed[i].error))
                fail_msg("form %zu in pieces of %zu: %.*s", i, size,
                         VIEW_ARG(buf_view(&seen)));
        }
}

static void heads_and_parts_are_bounded(void **state)
{
    CLEANUP(buf_finish) struct buf body = { .max = 1 << 20 };
    CLEANUP(buf_finish) struct buf seen = { .max = 1 << 20 };

    (void)state;
    for (int i = 0; i < MULTIPART_MAX_PARTS + 1; i++)
        buf_add(&body, VIEW(ONE("\r\n")));
    read_form(&seen, TYPE, buf_view(&body), 1000);
    assert_true(says(&seen, "more than 100 parts"));
    buf_clear(&body);
    buf_clear(&seen);
    buf_printf(&body, "--B\r\nA: %*d\r\n\r\n", MULTIPART_MAX_HEAD, 1);
    read_form(&seen, TYPE, buf_view(&body), 1000);
    assert_true(says(&seen, "more than 8 KiB"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_read),
        cmocka_unit_test(malformed_forms_are_refused),
        cmocka_unit_test(heads_and_parts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
