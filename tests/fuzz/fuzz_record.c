/* fuzz_record.c - whatever guest code reports of variables, and whatever Redis
 * has for a record: it is bounded, it is text, and the next record can hold it.
 *
 * The first byte says which; the rest is the report, or the record. */
#include <string.h>

#include "consumer/python/notice.h"
#include "consumer/python/record.h"
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

static void check_notice(struct notice *notice)
{
    MUST(buf_ok(&notice->text) && notice->text.len <= 700);
    notice_finish(notice);
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
    struct variables_report report;
    struct notice notice;
    report_read(&report, bytes, &arena);
    check_left(&report.left);
    check_packages(&report.packages);
    missing_add(&report.left, "and more", "there are more", &arena);
    check_fits(&(struct session_record){ .name = VIEW("s"),
                                         .tenant = VIEW("t"),
                                         .generation = 1,
                                         .missing = report.left,
                                         .packages = report.packages });
    notice_init(&notice);
    notice_add_names(&notice, "not saved", &report.left, report.cut);
    notice_add_packages(&notice, "packages to install again", &report.packages);
    check_notice(&notice);
}

static void read_record(struct view bytes)
{
    struct session_memo memo = { 0 };
    struct notice notice;
    struct err err;
    bool ok = memo_read(&memo, bytes, &err);
    MUST(ok || (!memo.exists && err.text[0] != '\0'));
    MUST(memo.exists == (ok && bytes.len > 0));
    if (memo.exists) {
        notice_init(&notice);
        notice_add(&notice, CELL_LOST, "%.*s", VIEW_ARG(memo.record.note));
        notice_add_names(&notice, "not saved", &memo.record.missing, false);
        notice_add_files(&notice, "files not saved", &memo.record.files);
        notice_add_packages(&notice, "packages", &memo.record.packages);
        check_notice(&notice);
    }
    memo_finish(&memo);
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
