/* test_document.c - the published JSON Schemas are what the tables say.
 *
 * With QUERN_UPDATE in the environment the documents are written anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/json/schema.h"
#include "schemas/message/conversation.h"
#include "schemas/message/event.h"
#include "schemas/message/history.h"

static void write_document(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file, "%s\n", text);
    assert_int_equal(fclose(file), 0);
}

static void check_document(const struct schema *schema)
{
    json_t *told = json_schema(schema);
    char *text = json_dumps(told, JSON_INDENT(2));
    char path[4096];
    json_t *written;
    bool same;

    assert_non_null(text);
    snprintf(path, sizeof(path), "%s/schemas/json/%s.schema.json", SOURCE_DIR,
             schema->name);
    if (getenv("QUERN_UPDATE") != NULL)
        write_document(path, text);
    written = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    same = written != NULL && json_equal(written, told);
    json_decref(written);
    json_decref(told);
    free(text);
    if (!same)
        fail_msg("%s is not what the table says", path);
}

static void test_job(void **state)
{
    (void)state;
    check_document(&schema_job);
}

static void test_event(void **state)
{
    (void)state;
    check_document(&schema_event);
}

static void test_result(void **state)
{
    (void)state;
    check_document(&schema_result);
}

static void test_session(void **state)
{
    (void)state;
    check_document(&schema_session_record);
}

static void test_history(void **state)
{
    (void)state;
    check_document(&schema_history);
}

static void test_conversation(void **state)
{
    (void)state;
    check_document(&schema_conversation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),     cmocka_unit_test(test_event),
        cmocka_unit_test(test_result),  cmocka_unit_test(test_session),
        cmocka_unit_test(test_history), cmocka_unit_test(test_conversation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
