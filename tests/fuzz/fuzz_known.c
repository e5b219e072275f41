/* fuzz_known.c - whatever guest code reports of a picture, and whatever Redis
 * has for a record: it is bounded, it is text, and the next record can hold it.
 *
 * The first byte says which; the rest is the report, or the record. */
#include <string.h>

#include "consumer/python/known.h"
#include "consumer/python/told.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"

static void check_line(struct view text, size_t max)
{
    MUST(text.len <= max && view_is_utf8(text));
    for (size_t i = 0; i < text.len; i++)
        MUST((unsigned char)text.data[i] >= ' ' && text.data[i] != 0x7f);
}

static void check_name(struct view name)
{
    MUST(name.len > 0);
    check_line(name, MAX_NAME_BYTES);
}

static void check_told(struct told *told)
{
    MUST(buf_ok(&told->text) && told->text.len <= 700);
    told_finish(told);
}

static void check_fits(const struct session_record *record)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_SESSION_BYTES };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct session_record again;
    struct err err;
    MUST(message_encode(&schema_session_record, record, &bytes, &err));
    MUST(message_decode(&schema_session_record, buf_view(&bytes), &again,
                        &arena, &err));
}

static void check_left(const struct list *left)
{
    const struct pair *pairs = left->items;
    MUST(left->count <= MAX_MISSING);
    for (size_t i = 0; i < left->count; i++) {
        check_name(pairs[i].key);
        check_line(pairs[i].value, 200);
    }
}

static void check_packages(const struct list *packages)
{
    const struct view *names = packages->items;
    MUST(packages->count <= MAX_PACKAGES);
    for (size_t i = 0; i < packages->count; i++)
        check_line(names[i], MAX_NAME_BYTES);
}

static void read_report(struct view bytes)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct picture_report report;
    struct told told;
    picture_report_read(&report, bytes, &arena);
    check_left(&report.left);
    check_packages(&report.packages);
    missing_add(&report.left, "and more", "there are more", &arena);
    check_fits(&(struct session_record){ .name = VIEW("s"),
                                         .tenant = VIEW("t"),
                                         .generation = 1,
                                         .missing = report.left,
                                         .packages = report.packages });
    told_init(&told);
    told_add_names(&told, "not saved", &report.left, report.cut);
    told_add_packages(&told, "packages to install again", &report.packages);
    check_told(&told);
}

static void read_record(struct view bytes)
{
    struct known known = { 0 };
    struct told told;
    struct err err;
    bool ok = known_read(&known, bytes, &err);
    MUST(ok || (!known.there && err.text[0] != '\0'));
    MUST(known.there == (ok && bytes.len > 0));
    if (known.there) {
        told_init(&told);
        told_add(&told, CELL_LOST, "%.*s", VIEW_ARG(known.record.note));
        told_add_names(&told, "not saved", &known.record.missing, false);
        told_add_files(&told, "files not saved", &known.record.files);
        told_add_packages(&told, "packages", &known.record.packages);
        check_told(&told);
    }
    known_finish(&known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct view rest = { (const char *)data + 1, size - 1 };
    if (data[0] & 1)
        read_report(rest);
    else
        read_record(rest);
    return 0;
}
