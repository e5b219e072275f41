/* test_output.c - what a cell gives: whatever the journal says, whatever the
 * link to the executor does. Redis is away: what is stored waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/blob.h"
#include "consumer/output/output.h"
#include "schemas/message/limits.h"
#include "schemas/message/session.h"

#define ID "019aa5c8-1b2c-7000-8000-000000000000"

static struct fixture {
    uv_loop_t loop;
    struct control *control;
    struct store store;
    struct names names;
    struct progress progress;
    size_t memory_left;
    uint64_t void_bytes;
    struct output output;
    struct list none;
    struct arena arena;
} fixture;

static int begin(void **state)
{
    struct fixture *f = &fixture;
    struct address address;
    struct err err;
    *state = f;
    *f = (struct fixture){ .memory_left = 1 << 20 };
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_true(address_parse(&address, VIEW("redis://nobody.invalid"), &err));
    assert_true(names_init(&f->names, "quern:", &err));
    f->control = control_new(&f->loop,
                             &(struct control_setup){ .address = &address,
                                                      .names = &f->names,
                                                      .look_ms = 1000 },
                             (struct control_events){ 0 }, NULL);
    address_finish(&address);
    store_init(&f->store, f->control);
    progress_init(&f->progress, &f->loop,
                  &(struct progress_setup){ .store = &f->store,
                                            .names = &f->names,
                                            .lease.id = VIEW(ID),
                                            .delta_ms = 60000 });
    output_init(&f->output,
                &(struct output_setup){ .progress = &f->progress,
                                        .names = &f->names,
                                        .memory_left = &f->memory_left,
                                        .void_bytes = &f->void_bytes,
                                        .blob_ttl_ms = 1000 });
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    output_finish(&f->output);
    assert_int_equal(f->memory_left, 1 << 20);
    progress_finish(&f->progress);
    store_finish(&f->store);
    control_free(f->control);
    arena_finish(&f->arena);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&f->loop);
}

static struct record finish(struct fixture *f, const struct cell *cell,
                            uint64_t displays)
{
    struct record record = { 0 };
    output_cell(&f->output, cell, displays, &f->none, false);
    output_record(&f->output, VIEW("code"), &record);
    return record;
}

static void assert_notes(const struct record *record, const char *expected)
{
    if (!view_is(record->cell.notes, expected))
        fail_msg("\"%.*s\"", VIEW_ARG(record->cell.notes));
}

/* ------------------------------------------------------- a job's shares */

static void show(struct fixture *f, uint64_t number)
{
    struct pair part = { VIEW("image/png"), VIEW("not looked into") };
    struct frame frame = { .number = number, .bundle = { &part, 1 } };
    output_display(&f->output, &frame);
}

/* The journal lies in Redis: two records say what they like. */
static void
a_journal_that_says_more_than_there_may_be_leaves_no_share(void **state)
{
    static const struct {
        const char *what;
        size_t images, parts;
        uint64_t bytes; /* of each part */
        const char *note;
    } rows[] = {
        { "nothing is taken", 0, 0, 0, "" },
        { "one image is left", MAX_IMAGES - 1, 0, 0, "" },
        { "as many images as there may be", MAX_IMAGES, 0, 0,
          "[figure-65.png: dropped, a job may have 64 images]\n" },
        { "more images", MAX_IMAGES + 1, 0, 0,
          "[figure-65.png: dropped, a job may have 64 images]\n" },
        { "more forms of displays", 0, MAX_PARTS + 1, 0,
          "[figure-1.png: dropped, a job may display 256 things beside "
          "text]\n" },
        { "more bytes", 0, 3, 128 << 20,
          "[figure-1.png: dropped, a job may display 256 MiB]\n" },
        { "bytes without end", 0, 1, UINT64_MAX,
          "[figure-1.png: dropped, a job may display 256 MiB]\n" },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct display_part parts[MAX_PARTS + 1];
        for (size_t j = 0; j < rows[i].parts; j++)
            parts[j] = (struct display_part){ .bytes = rows[i].bytes };
        size_t half = rows[i].parts / 2;
        struct display one = { .parts = { parts, half } };
        struct display two = { .parts = { parts, rows[i].parts - half } };
        struct record records[] = {
            { .images.count = rows[i].images / 2,
              .cell.displays = { &one, 1 } },
            { .images.count = rows[i].images - rows[i].images / 2,
              .cell.displays = { &two, 1 } },
        };
        output_begin(&f->output, VIEW("1"), 1,
                     (struct earlier_output){ .records = records, .count = 2 });
        show(f, 1);
        struct record record = finish(f, &(struct cell){ 0 }, 1);
        if (!view_is(record.cell.notes, rows[i].note) ||
            record.images.count != (*rows[i].note == '\0'))
            fail_msg("%s: %zu, \"%.*s\"", rows[i].what, record.images.count,
                     VIEW_ARG(record.cell.notes));
    }
}

/* --------------------------------------------------------------- files */

static struct view blob_of(struct fixture *f, const char *bytes)
{
    char name[BLOB_NAME_LEN + 1];
    blob_name(view_of(bytes ? bytes : ""), name);
    return arena_copy(&f->arena, view_of(name));
}

/* A client saves it under this name, and a person reads it. */
static void a_name_is_what_it_looks_like(void **state)
{
    static const struct {
        const char *path, *name;
    } names[] = {
        { "d/a.csv", "d_a.csv" },
        { "a\x1b[2J\n\177", "a_[2J__" },
        { "a\xc2\x9b"
          "2J",
          "a_2J" },
        { "invoice_\u202efdp.exe", "invoice__fdp.exe" },
        { "a\u200b\ufeff\u2028\U000e0041.csv", "a____.csv" },
        { "-rf", "_rf" },
        { "--/-x", "_-_-x" },
        { "\xff", "\xef\xbf\xbd" },
        { "..", "_." },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct view name = file_name_of(view_of(names[i].path), &f->arena);
        print_message("%s\n", names[i].name);
        assert_true(view_is(name, names[i].name));
    }
}

/* The bytes of a file f: as an earlier job left it, as the job brought it, as
 * two cells of it wrote it (NULL: they did not), as it is now. */
static const struct version {
    const char *what;
    const char *saved, *given, *cells[2];
    bool emptied; /* with the second cell what the first had was lost */
    int change;
    const char *now;
    bool told;
} versions[] = {
    { "as the last cell left it",
      "1",
      "2",
      { "3", "4" },
      false,
      FILE_CHANGED,
      "4",
      false },
    { "as the cell before that left it",
      NULL,
      NULL,
      { "3", "4" },
      false,
      FILE_CHANGED,
      "3",
      true },
    { "as the one cell left it that wrote it",
      NULL,
      NULL,
      { "3", NULL },
      false,
      FILE_CHANGED,
      "3",
      false },
    { "as the job brought it",
      "1",
      "2",
      { NULL, NULL },
      false,
      FILE_CHANGED,
      "2",
      false },
    { "as the job brought it, but a cell changed it",
      "1",
      "2",
      { "3", NULL },
      false,
      FILE_CHANGED,
      "2",
      true },
    { "as an earlier job left it",
      "1",
      NULL,
      { NULL, NULL },
      false,
      FILE_CHANGED,
      "1",
      false },
    { "as an earlier job left it, but this one brought another",
      "1",
      "2",
      { NULL, NULL },
      false,
      FILE_CHANGED,
      "1",
      true },
    { "as a cell left it whose session was lost",
      NULL,
      "2",
      { "3", NULL },
      true,
      FILE_CHANGED,
      "3",
      true },
    { "as the job brought it, once more when the session was lost",
      NULL,
      "2",
      { "3", NULL },
      true,
      FILE_CHANGED,
      "2",
      false },
    { "as an earlier job left it in a session that was lost",
      "1",
      NULL,
      { NULL, NULL },
      true,
      FILE_CHANGED,
      "1",
      true },
    { "new, and as it was known",
      "1",
      NULL,
      { NULL, NULL },
      false,
      FILE_NEW,
      "1",
      true },
    { "not known before",
      NULL,
      NULL,
      { NULL, NULL },
      false,
      FILE_CHANGED,
      "1",
      true },
};

/* The record of a cell that finds it as it is now. */
static struct record change(struct fixture *f, const struct version *version,
                            struct earlier_output earlier)
{
    struct workspace_file file = { VIEW("f"), 1, version->change };
    struct record record = { 0 };
    output_begin(&f->output, VIEW("3"), 1, earlier);
    output_cell(&f->output, &(struct cell){ 0 }, 0, &(struct list){ &file, 1 },
                false);
    assert_true(view_is(output_wanted(&f->output), "f"));
    output_file(&f->output, view_of(version->now), NULL);
    assert_int_equal(output_wanted(&f->output).len, 0);
    output_record(&f->output, VIEW("code"), &record);
    return record;
}

static void what_has_the_bytes_of_before_is_left_out(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        const struct version *version = &versions[i];
        struct cell_file files[2] = { { .name = VIEW("f") },
                                      { .name = VIEW("f") } };
        struct record records[2] = { { 0 }, { .emptied = version->emptied } };
        for (size_t j = 0; j < 2; j++) {
            files[j].blob = blob_of(f, version->cells[j]);
            records[j].cell.files =
                (struct list){ &files[j], version->cells[j] != NULL };
        }
        struct file_ref upload = { .name = VIEW("f"),
                                   .blob = blob_of(f, version->given) };
        struct session_file kept = { .name = VIEW("f"),
                                     .blob = blob_of(f, version->saved) };
        struct list given = { &upload, version->given != NULL };
        struct list saved = { &kept, version->saved != NULL };
        struct record record = change(
            f, version, (struct earlier_output){ records, 2, &given, &saved });
        if (record.cell.files.count != version->told ||
            record.files.count != version->told)
            fail_msg("%s", version->what);
    }
}

/* ------------------------------------------- the link to the executor breaks
 */

struct piece {
    uint64_t offset;
    const char *bytes; /* NULL: the link broke, all comes again */
};

static void hear(struct fixture *f, const struct piece *pieces)
{
    for (; pieces->bytes || pieces->offset == 0; pieces++)
        if (pieces->bytes)
            output_stream(&f->output, VIEW("stdout"), pieces->offset,
                          view_of(pieces->bytes));
        else
            output_start(&f->output, true);
}

#define BREAK                                                                  \
    {                                                                          \
        0, NULL                                                                \
    }
#define END                                                                    \
    {                                                                          \
        1, NULL                                                                \
    }

static void of_a_stream_that_comes_again_nothing_is_lost_or_twice(void **state)
{
    static const struct {
        const char *what;
        struct piece pieces[8];
        const char *text, *note;
    } rows[] = {
        { "as it was",
          { { 0, "ab" }, BREAK, { 0, "ab" }, { 2, "c" }, END },
          "abc",
          "" },
        { "in other pieces",
          { { 0, "abc" }, BREAK, { 0, "ab" }, { 2, "cd" }, END },
          "abcd",
          "" },
        { "without offsets, of an executor of before",
          { { 0, "ab" }, { 0, "c" }, BREAK, { 0, "ab" }, { 0, "cd" }, END },
          "abcd",
          "" },
        { "twice",
          { { 0, "ab" },
            BREAK,
            { 0, "a" },
            BREAK,
            { 0, "ab" },
            { 2, "c" },
            END },
          "abc",
          "" },
        { "what was seen is not kept any more, what follows is new",
          { { 0, "abc" }, BREAK, { 0, "a" }, { 3, "d" }, END },
          "abcd",
          "" },
        { "what was not seen is not kept",
          { { 0, "a" }, BREAK, { 0, "a" }, { 3, "d" }, { 4, "e" }, END },
          "a\n[... 2 bytes left out ...]\nde",
          "[stdout: of its 5 bytes the first 1 are kept]\n" },
        { "nor anything of it",
          { BREAK, { 3, "de" }, END },
          "\n[... 3 bytes left out ...]\nde",
          "[stdout: of its 5 bytes the first 0 are kept]\n" },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        output_begin(&f->output, VIEW("1"), 1, (struct earlier_output){ 0 });
        output_start(&f->output, false);
        hear(f, rows[i].pieces);
        struct record record = finish(f, &(struct cell){ 0 }, 0);
        if (!view_is(record.cell.out, rows[i].text) ||
            !view_is(record.cell.notes, rows[i].note))
            fail_msg("%s: \"%.*s\", \"%.*s\"", rows[i].what,
                     VIEW_ARG(record.cell.out), VIEW_ARG(record.cell.notes));
    }
}

static void of_displays_that_come_again_nothing_is_lost_or_twice(void **state)
{
    static const struct {
        const char *what;
        int numbers[8]; /* 0: the link broke; -1: the end, -2: without number */
        uint64_t all;
        size_t shown;
        const char *note;
    } rows[] = {
        { "as they were", { 1, 2, 0, 1, 2, 3, -1 }, 3, 3, "" },
        { "without numbers, of an executor of before",
          { -2, -2, 0, -2, -2, -2, -1 },
          0,
          3,
          "" },
        { "seen, and not kept since", { 1, 2, 0, 1, 3, -1 }, 3, 3, "" },
        { "not seen, and not kept",
          { 1, 0, 1, 3, -1 },
          4,
          2,
          "[displays: 2 of 4 are lost: the link to the executor broke, and "
          "they were too much to keep]\n" },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        output_begin(&f->output, VIEW("1"), 1, (struct earlier_output){ 0 });
        output_start(&f->output, false);
        for (const int *number = rows[i].numbers; *number != -1; number++)
            if (*number == 0)
                output_start(&f->output, true);
            else
                show(f, *number > 0 ? (uint64_t)*number : 0);
        struct record record = finish(f, &(struct cell){ 0 }, rows[i].all);
        if (record.cell.displays.count != rows[i].shown ||
            !view_is(record.cell.notes, rows[i].note))
            fail_msg("%s: %zu, \"%.*s\"", rows[i].what,
                     record.cell.displays.count, VIEW_ARG(record.cell.notes));
    }
}

static void what_begins_anew_is_as_if_nothing_had_come(void **state)
{
    struct fixture *f = *state;
    output_begin(&f->output, VIEW("1"), 1, (struct earlier_output){ 0 });
    output_start(&f->output, false);
    output_stream(&f->output, VIEW("stdout"), 0, VIEW("void"));
    show(f, 1);
    output_start(&f->output, false);
    output_stream(&f->output, VIEW("stdout"), 0, VIEW("good"));
    struct record record = finish(f, &(struct cell){ 0 }, 0);
    assert_true(view_is(record.cell.out, "good"));
    assert_int_equal(record.cell.displays.count, 0);
    assert_notes(&record, "");
}

/* What a cell does, a word each: t.. text, d.. a display, u.. an update, c
 * clears, w clears when more comes, r is its value. "d1x": of id 1, with text
 * x. */
static void do_words(struct fixture *f, const char *words, struct cell *cell)
{
    uint64_t clears = 0;
    for (; *words; words += strcspn(words, " "), words += *words == ' ') {
        size_t len = strcspn(words, " ");
        struct pair text = { VIEW("text/plain"), { words + 2, len - 2 } };
        struct frame frame = { .bundle = { &text, 1 }, .clears = clears };
        if (len > 1 && words[1] != '-')
            frame.display_id = (struct view){ words + 1, 1 };
        if (*words == 't')
            output_stream(&f->output, VIEW("stdout"), 0,
                          (struct view){ words + 1, len - 1 });
        else if (*words == 'd')
            output_display(&f->output, &frame);
        else if (*words == 'l') /* one that was cleared before it was sent */
            output_display(&f->output, &(struct frame){ .bundle = { &text, 1 },
                                                        .clears = clears - 1 });
        else if (*words == 'u')
            output_update(&f->output, &frame);
        else if (*words == 'r')
            cell->result = VIEW("value");
        else
            output_clear(&f->output, &(struct frame){ .wait = *words == 'w' });
        clears += *words == 'w' || *words == 'c';
    }
}

static void add_texts(struct buf *text, const struct list *list)
{
    const struct display *displays = list->items;
    for (size_t i = 0; i < list->count; i++)
        buf_printf(text, " %.*s%.*s", VIEW_ARG(displays[i].id),
                   VIEW_ARG(displays[i].text));
}

static void what_stands_when_a_cell_ends_is_what_it_has_given(void **state)
{
    static const struct {
        const char *what, *before, *words, *stands;
    } rows[] = {
        { "an update", "", "d1a d2b u1c", "|| 1c 2b" },
        { "of two of the same id", "", "d1a d1b u1c", "|| 1c 1c" },
        { "of none", "", "d1a", "|| 1a" },
        { "of an earlier cell", "d1a", "u1b u1c ttext", "|text| / 1c" },
        { "of an earlier cell and this one", "d1a", "d1b u1c", "|| 1c / 1c" },
        { "of an earlier job", "", "u1b", "|| 1b" },
        { "of one that was cleared", "", "d1a c u1b", "||" },
        { "a clear", "", "ta d1a c tb d2b", "|b| 2b" },
        { "a clear that waits", "", "ta d1a w", "|a| 1a" },
        { "... for text", "", "ta d1a w tb", "|b|" },
        { "... for a display", "", "ta d1a w d2b", "|| 2b" },
        { "... not for an update", "", "ta d1a w u1b", "|a| 1b" },
        { "... for a value", "", "ta d1a w r", "||" },
        { "a display that was late", "", "ta w tb w l-c", "|b| c" },
        { "... of a clear that waits, before another", "", "ta w w l-c",
          "|| c" },
        { "... which then comes", "", "ta w w l-c tb", "|b|" },
        { "... too late", "", "ta w w tb l-c", "|b|" },
        { "earlier cells stay", "d1a", "c u1b", "|| / 1b" },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[] = "a";
        struct display before = { .id = VIEW("1"), .text = { text, 1 } };
        struct record earlier = {
            .cell.displays = { &before, *rows[i].before != '\0' },
        };
        struct cell cell = { 0 };
        output_begin(
            &f->output, VIEW("1"), 1,
            (struct earlier_output){ .records = &earlier, .count = 1 });
        do_words(f, rows[i].words, &cell);
        struct record record = finish(f, &cell, 0);
        CLEANUP(buf_finish) struct buf stands;
        buf_init(&stands, 1000);
        buf_printf(&stands, "|%.*s|", VIEW_ARG(record.cell.out));
        add_texts(&stands, &record.cell.displays);
        if (record.cell.updates.count > 0)
            buf_printf(&stands, " /");
        add_texts(&stands, &record.cell.updates);
        if (!view_is(buf_view(&stands), rows[i].stands))
            fail_msg("%s: \"%.*s\"", rows[i].what, VIEW_ARG(buf_view(&stands)));
    }
}

static void what_was_replaced_takes_no_share_and_leaves_its_name(void **state)
{
    struct fixture *f = *state;
    output_begin(&f->output, VIEW("1"), 1, (struct earlier_output){ 0 });
    for (int i = 0; i < 1000; i++) {
        show(f, 0);
        output_clear(&f->output, &(struct frame){ .wait = i % 2 });
    }
    struct pair part = { VIEW("image/png"), VIEW("another") };
    struct frame shown = { .display_id = VIEW("1"),
                           .bundle = { &part, 1 },
                           .clears = 1000 };
    output_display(&f->output, &shown);
    for (int i = 0; i < 1000; i++)
        output_update(&f->output, &shown);
    struct record record = finish(f, &(struct cell){ 0 }, 0);
    assert_notes(&record, "");
    assert_int_equal(record.cell.displays.count, 1);
    assert_int_equal(record.images.count, 1);
    const struct image_ref *image = record.images.items;
    assert_true(view_is(image->name, "figure-1.png"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_journal_that_says_more_than_there_may_be_leaves_no_share),
        TEST(a_name_is_what_it_looks_like),
        TEST(what_has_the_bytes_of_before_is_left_out),
        TEST(of_a_stream_that_comes_again_nothing_is_lost_or_twice),
        TEST(of_displays_that_come_again_nothing_is_lost_or_twice),
        TEST(what_stands_when_a_cell_ends_is_what_it_has_given),
        TEST(what_was_replaced_takes_no_share_and_leaves_its_name),
        TEST(what_begins_anew_is_as_if_nothing_had_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
