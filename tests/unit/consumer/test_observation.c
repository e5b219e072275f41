/* test_observation.c - what a model is shown of a cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/observation.h"
#include "schemas/message/limits.h"

static struct image_ref figure = { .name = { "figure-1.png", 12 } };
static struct cell_file table = { .name = { "out.csv", 7 },
                                  .bytes = 120,
                                  .change = FILE_NEW };
static struct cell_file deep = { .name = { "dir_a.csv", 9 },
                                 .path = { "dir/a.csv", 9 },
                                 .bytes = 1,
                                 .change = FILE_CHANGED,
                                 .note = { "not kept", 8 } };
static struct cell_file gone = { .name = { "old.csv", 7 },
                                 .change = FILE_DELETED };
static struct display shown = { .text = { "   a\n0  1", 9 } };
static struct display_part png = { .mime = { "image/png", 9 } };
static struct display picture = { .text = { "<Figure>", 8 },
                                  .parts = { &png, 1 } };
static struct display_part html = { .mime = { "text/html", 9 } };
static struct display frame = { .text = { "a table", 7 },
                                .parts = { &html, 1 } };

static const struct {
    const char *what;
    struct record record;
    const char *text;
} rows[] = {
    { "nothing", { .turn = 1 }, "(no output)\n" },
    { "a value", { .cell = { .result = { "4", 1 } } }, "result:\n4\n" },
    { "print and value",
      { .cell = { .out = { "hi\n", 3 }, .result = { "4", 1 } } },
      "stdout:\nhi\nresult:\n4\n" },
    { "only an image",
      { .images = { &figure, 1 } },
      "[image: figure-1.png]\n" },
    { "a figure's text is not told beside its image",
      { .images = { &figure, 1 }, .cell = { .displays = { &picture, 1 } } },
      "[image: figure-1.png]\n" },
    { "a display's text",
      { .cell = { .displays = { &frame, 1 } } },
      "display:\na table\n" },
    { "a file",
      { .cell = { .files = { &table, 1 } } },
      "[file: out.csv, 120 bytes]\n" },
    { "a file in a folder that was not kept, by its path",
      { .cell = { .files = { &deep, 1 } } },
      "[file: dir/a.csv, 1 bytes, not kept]\n" },
    { "a file that is gone",
      { .cell = { .files = { &gone, 1 } } },
      "[deleted: old.csv]\n" },
    { "a stream of which there is more",
      { .cell = { .out = { "a\nz\n", 4 },
                  .out_bytes = 9000,
                  .out_blob = { "00", 2 } } },
      "stdout:\na\nz\n[stdout was 9000 bytes. You see its beginning and its "
      "end; the user gets it as a file. To see more, print only the part that "
      "you need.]\n" },
    { "what was dropped",
      { .cell = { .out = { "a\n", 2 }, .notes = { "[x: dropped]\n", 13 } } },
      "stdout:\na\n[x: dropped]\n" },
    { "what a display of an earlier cell has become",
      { .cell = { .updates = { &frame, 1 } } },
      "earlier display, updated:\na table\n" },
    { "a display that is the value is shown once",
      { .cell = { .displays = { &shown, 1 }, .result = { "   a\n0  1", 9 } } },
      "result:\n   a\n0  1\n" },
    { "an exception",
      { .cell = { .status = CELL_ERROR,
                  .error = { .name = { "E", 1 },
                             .traceback = { "line 1\nE: x", 11 } } } },
      "The code raised an exception.\ntraceback:\nline 1\nE: x\n" },
    { "an exception without a traceback",
      { .cell = { .status = CELL_ERROR,
                  .error = { .name = { "E", 1 }, .value = { "x", 1 } } } },
      "The code raised an exception.\nE: x\n" },
    { "a time-out says what is left",
      { .emptied = true,
        .cell = { .status = CELL_TIMEOUT,
                  .state = CELL_LOST,
                  .reason = { "it ran for 60000 ms", 19 } } },
      "The code ran into its time limit.\nThe session was restarted: "
      "variables and the files that code wrote are gone, uploaded files are "
      "there: it ran for 60000 ms.\nImport and load again what you need.\n" },
    { "a killed cell says where it was and what is left",
      { .cell = { .status = CELL_TIMEOUT,
                  .state = CELL_ROLLED_BACK,
                  .line = 3,
                  .reason = { "it ran for 1000 ms", 18 } } },
      "The code ran into its time limit.\nIt was at line 3 of the code.\n"
      "Variables are as they were before this code, its files are kept: it ran "
      "for 1000 ms.\nGo on from there with smaller steps; do not run the same "
      "code again.\n" },
    { "lost variables, without a snapshot",
      { .cell = { .state = CELL_LOST, .result = { "1", 1 } } },
      "The session was restarted, its variables are gone.\n"
      "Import and load again what you need.\nresult:\n1\n" },
    { "a restored session",
      { .cell = { .state = CELL_RESTORED,
                  .reason = { "the executor went away", 22 },
                  .result = { "1", 1 } } },
      "The session was restored: the executor went away.\nresult:\n1\n" },
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        observation_write(&out, &rows[i].record);
        if (!view_is(buf_view(&out), rows[i].text))
            fail_msg("%s: got \"%.*s\"", rows[i].what,
                     VIEW_ARG(buf_view(&out)));
        buf_finish(&out);
    }
}

/* However much there is, it fits, is UTF-8, and says what is missing. */
static void test_much_of_everything(void **state)
{
    (void)state;
    enum { MUCH = 1 << 20 };
    char *much = malloc(MUCH);
    memset(much, '\xff', MUCH);
    struct view all = { much, MUCH };
    struct display displays[64];
    struct image_ref images[MAX_IMAGES];
    struct cell_file files[MAX_CELL_FILES];
    char name[MAX_FILE_NAME_BYTES];
    memset(name, 'n', sizeof(name));
    for (size_t i = 0; i < 64; i++) {
        displays[i] = (struct display){ .text = all };
        images[i] = figure;
    }
    for (size_t i = 0; i < MAX_CELL_FILES; i++)
        files[i] = (struct cell_file){ .name = { name, sizeof(name) } };
    struct record record = {
        .cell = { .status = CELL_ERROR,
                  .out = all,
                  .errout = all,
                  .result = all,
                  .displays = { displays, 64 },
                  .files = { files, MAX_CELL_FILES },
                  .notes = VIEW("and a note"),
                  .error = { .name = all, .value = all, .traceback = all } },
        .images = { images, MAX_IMAGES },
    };
    struct buf out;
    observation_write(&out, &record);
    assert_true(out.len <= MAX_OBSERVATION_BYTES && out.len > 1000);
    assert_true(view_is_utf8(buf_view(&out)));
    char *text = view_dup(buf_view(&out));
    assert_non_null(strstr(text, "bytes left out"));
    assert_non_null(strstr(text, "and a note"));
    free(text);
    buf_finish(&out);
    free(much);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_much_of_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
