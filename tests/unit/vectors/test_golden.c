/* test_golden.c - the bytes in schemas/vectors, written once and never again.
 *
 * A reader of last year must understand them, and a writer of last year wrote
 * them: a change here is a change of the format. QUERN_UPDATE in the
 * environment writes files that are missing and index.json; a file that is
 * there is only compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/message/notation.h"
#include "tests/unit/vectors/golden.h"

enum { MAX_VECTOR = 64 << 10 };

static void path_of(const char *file, const char *end, char path[4096])
{
    snprintf(path, 4096, "%s/schemas/vectors/%s%s", SOURCE_DIR, file, end);
}

static bool updating(void)
{
    return getenv("QUERN_UPDATE") != NULL;
}

/* The file holds these bytes. */
static void check_file(const char *file, struct view bytes)
{
    char path[4096], there[MAX_VECTOR];
    FILE *stream;
    size_t len;

    path_of(file, ".msgpack", path);
    if (updating() && access(path, F_OK) != 0) {
        stream = fopen(path, "wb");
        assert_non_null(stream);
        fwrite(bytes.data, 1, bytes.len, stream);
        assert_int_equal(fclose(stream), 0);
    }
    stream = fopen(path, "rb");
    if (stream == NULL)
        fail_msg("%s is not there", path);
    len = fread(there, 1, sizeof(there), stream);
    fclose(stream);
    if (!view_equal(bytes, (struct view){ there, len }))
        fail_msg("%s holds other bytes", path);
}

static json_t *json_of(const char *notation)
{
    char *text = strdup(notation);
    json_error_t error;
    json_t *json;

    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (json == NULL)
        fail_msg("%s: %s", notation, error.text);
    return json;
}

/* The bytes decode to a message that JSON says so. */
static json_t *decode(const char *file, const struct schema *schema,
                      struct view bytes)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    void *message = arena_alloc(&arena, schema->size);
    struct err err = { 0 };

    if (schema == &schema_job
            ? !job_decode(message, bytes, &arena, &err)
            : !message_decode(schema, bytes, message, &arena, &err))
        fail_msg("%s: %s", file, err.text);
    return json_from_message(schema, message);
}

static void test_canonical(void **state)
{
    (void)state;
    for (size_t i = 0; i < CANONICAL; i++) {
        const struct canonical *row = &canonical[i];
        CLEANUP(arena_finish) struct arena arena = { 0 };
        CLEANUP(buf_finish) struct buf bytes = { .max = MAX_VECTOR };
        void *message = arena_alloc(&arena, row->schema->size);
        json_t *json = json_of(row->json);
        struct err err = { 0 };
        json_t *again;

        if (!json_to_message(row->schema, json, message, &arena, NULL, &err) ||
            !message_encode(row->schema, message, &bytes, &err))
            fail_msg("%s: %s", row->file, err.text);
        check_file(row->file, buf_view(&bytes));
        again = decode(row->file, row->schema, buf_view(&bytes));
        json_object_set_new(json, "v", json_integer(1));
        if (!json_equal(json, again))
            fail_msg("%s says something else", row->file);
        json_decref(json);
        json_decref(again);
    }
}

static void test_odd(void **state)
{
    (void)state;
    for (size_t i = 0; i < ODD; i++) {
        json_t *json = json_of(odd[i].json);
        json_t *again = decode(odd[i].file, &schema_job, odd[i].bytes);

        check_file(odd[i].file, odd[i].bytes);
        if (!json_equal(json, again))
            fail_msg("%s says something else", odd[i].file);
        json_decref(json);
        json_decref(again);
    }
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < REFUSED; i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct err err = { 0 };
        struct job job;

        check_file(refused[i].file, refused[i].bytes);
        if (job_decode(&job, refused[i].bytes, &arena, &err))
            fail_msg("%s is accepted", refused[i].file);
        if (strcmp(err.code, refused[i].code) != 0)
            fail_msg("%s: %s: %s", refused[i].file, err.code, err.text);
    }
}

static json_t *index_row(const char *file, const char *what, const char *schema,
                         const char *writing)
{
    return json_pack("{s:s+, s:s, s:s, s:s}", "file", file, ".msgpack", "what",
                     what, "schema", schema, "writing", writing);
}

/* What each file is, for tests in other languages. */
static json_t *make_index(void)
{
    json_t *index = json_array();

    for (size_t i = 0; i < CANONICAL; i++) {
        json_t *row = index_row(canonical[i].file, canonical[i].what,
                                canonical[i].schema->name, "canonical");
        json_t *json = json_object();

        json_object_set_new(json, "v", json_integer(1));
        json_object_update_new(json, json_of(canonical[i].json));
        json_object_set_new(row, "json", json);
        json_array_append_new(index, row);
    }
    for (size_t i = 0; i < ODD; i++) {
        json_t *row = index_row(odd[i].file, odd[i].what, "job", "accepted");

        json_object_set_new(row, "json", json_of(odd[i].json));
        json_array_append_new(index, row);
    }
    for (size_t i = 0; i < REFUSED; i++) {
        json_t *row =
            index_row(refused[i].file, refused[i].what, "job", "refused");

        json_object_set_new(row, "code", json_string(refused[i].code));
        json_array_append_new(index, row);
    }
    return index;
}

static void test_index(void **state)
{
    json_t *index = make_index();
    json_t *there;
    char path[4096];

    (void)state;
    path_of("index", ".json", path);
    if (updating())
        assert_int_equal(json_dump_file(index, path, JSON_INDENT(1)), 0);
    there = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (there == NULL || !json_equal(index, there))
        fail_msg("%s is not what golden.h says", path);
    json_decref(index);
    json_decref(there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
