/* test_result.c - results that fit, whatever the job did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/output/result.h"
#include "tests/unit/consumer/records.h"

static const struct job question = { .prompt = { "How many?", 9 } };
static const struct job_outcome completed = { .status = STATE_COMPLETED,
                                              .attempts = 1 };

static struct result written(struct conversation *conversation,
                             const struct job_outcome *ending,
                             struct buf *bytes, struct arena *arena)
{
    struct result result;
    struct err err;
    struct job_outcome named = *ending;
    named.id = VIEW("019aa5c8-1b2c-7000-8000-000000000000");
    result_write(bytes, conversation, &named);
    assert_true(bytes->len <= MAX_RESULT_BYTES);
    if (!message_decode(&schema_result, buf_view(bytes), &result, arena, &err))
        fail_msg("%s", err.text);
    return result;
}

static void test_whole(void **state)
{
    (void)state;
    struct conversation all;
    struct arena arena = { 0 };
    struct buf bytes;
    assert_true(conversation_init(&all, &question, VIEW(""), NULL));
    asks(&all);
    answers(&all, "{\"role\": \"assistant\", \"content\": \"Two.\"}");
    struct result result = written(&all, &completed, &bytes, &arena);
    assert_int_equal(result.status, STATE_COMPLETED);
    assert_true(view_is(result.answer, "Two."));
    assert_int_equal(result.messages->via.array.size, 2);
    assert_int_equal(result.usage.input_tokens, 10);
    assert_int_equal(result.notes.len, 0);
    buf_finish(&bytes);
    arena_finish(&arena);
    conversation_finish(&all);
}

static void test_a_job_that_nobody_could_read(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct buf bytes;
    struct job_outcome ending = {
        .status = STATE_FAILED,
        .why = { ERR_REJECT, "bad_message", "at byte 3" },
    };
    struct result result = written(NULL, &ending, &bytes, &arena);
    assert_int_equal(result.status, STATE_FAILED);
    assert_true(view_is(result.error.code, "bad_message"));
    assert_true(view_is(result.error.kind, "reject"));
    assert_false(result.error.retryable);
    buf_finish(&bytes);
    arena_finish(&arena);
}

/* Cells whose texts alone are more than a result may hold. */
static void test_too_much_is_cut_and_said(void **state)
{
    (void)state;
    struct conversation all;
    struct arena arena = { 0 };
    struct buf bytes;
    char *much = malloc(MAX_CODE_BYTES);
    memset(much, 'x', MAX_CODE_BYTES);
    struct view code = { much, MAX_CODE_BYTES };
    struct view cells[30];
    for (size_t i = 0; i < 30; i++)
        cells[i] = code;
    struct image_ref image = { .name = VIEW("figure-1.png") };
    struct job job = { .kind = JOB_CODE, .cells = { cells, 30 } };
    assert_true(conversation_init(&all, &job, VIEW(""), NULL));
    for (size_t i = 0; i < 30; i++)
        apply(&all, &(struct record){
                        .kind = RECORD_TOOL_RESULT,
                        .turn = 1,
                        .call = view_of(conversation_call(&all)->id),
                        .cell = { .code = code,
                                  .out = { much, MAX_STREAM_BYTES },
                                  .result = { much, MAX_STREAM_BYTES } },
                        .images = { &image, 1 } });
    struct result result = written(&all, &completed, &bytes, &arena);
    assert_int_equal(result.cells.count, 30);
    assert_int_equal(result.images.count, 30);
    char *notes = view_dup(result.notes);
    assert_string_equal(notes, "Long texts of cells were cut. ");
    free(notes);
    buf_finish(&bytes);
    arena_finish(&arena);
    conversation_finish(&all);
    free(much);
}

/* As many cells as there may be, full of all that they may hold. */
static void test_every_cell_is_told(void **state)
{
    (void)state;
    struct conversation all;
    struct arena arena = { 0 };
    struct buf bytes;
    char *much = malloc(MAX_STREAM_BYTES);
    memset(much, '\xff', MAX_STREAM_BYTES);
    struct view text = { much, MAX_STREAM_BYTES };
    struct view one = VIEW("1");
    struct view cells[MAX_CELLS];
    struct cell_file files[MAX_CELL_FILES];
    for (size_t i = 0; i < MAX_CELLS; i++)
        cells[i] = one;
    for (size_t i = 0; i < MAX_CELL_FILES; i++)
        files[i] =
            (struct cell_file){ .name = VIEW("a.csv"), .path = { much, 512 } };
    struct job job = { .kind = JOB_CODE, .cells = { cells, MAX_CELLS } };
    assert_true(conversation_init(&all, &job, VIEW(""), NULL));
    for (size_t i = 0; i < MAX_CELLS; i++)
        apply(&all, &(struct record){
                        .kind = RECORD_TOOL_RESULT,
                        .turn = 1,
                        .call = view_of(conversation_call(&all)->id),
                        .cell = { .code = one,
                                  .out = text,
                                  .errout = text,
                                  .result = text,
                                  .reason = { much, 1024 },
                                  .error = { .name = { much, 1024 },
                                             .value = text,
                                             .traceback = text },
                                  .notes = { much, MAX_NOTES_BYTES },
                                  .files = { files, MAX_CELL_FILES } } });
    struct result result = written(&all, &completed, &bytes, &arena);
    assert_int_equal(result.cells.count, MAX_CELLS);
    assert_true(result.notes.len > 0);
    buf_finish(&bytes);
    arena_finish(&arena);
    conversation_finish(&all);
    free(much);
}

static void test_a_file_written_twice_stands_once(void **state)
{
    (void)state;
    struct conversation all;
    struct arena arena = { 0 };
    struct buf bytes;
    struct view cells[] = { VIEW("1"), VIEW("2") };
    struct job job = { .kind = JOB_CODE, .cells = { cells, 2 } };
    assert_true(conversation_init(&all, &job, VIEW(""), NULL));
    for (uint64_t i = 0; i < 2; i++) {
        struct file_ref file = { .name = VIEW("out.csv"), .bytes = i + 1 };
        apply(&all,
              &(struct record){ .kind = RECORD_TOOL_RESULT,
                                .turn = 1,
                                .call = view_of(conversation_call(&all)->id),
                                .cell = { .code = cells[i] },
                                .files = { &file, 1 } });
    }
    struct result result = written(&all, &completed, &bytes, &arena);
    assert_int_equal(result.files.count, 1);
    assert_int_equal(((struct file_ref *)result.files.items)->bytes, 2);
    buf_finish(&bytes);
    arena_finish(&arena);
    conversation_finish(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_a_job_that_nobody_could_read),
        cmocka_unit_test(test_too_much_is_cut_and_said),
        cmocka_unit_test(test_every_cell_is_told),
        cmocka_unit_test(test_a_file_written_twice_stands_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
