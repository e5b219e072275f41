/* test_recording.c - recordings: what is written is read, what is not one is
 * refused by its line. */
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/json/recording.h"
#include "schemas/message/journal.h"
#include "schemas/message/limits.h"

#define ID "019aa5c8-1b2c-7000-8000-000000000000"
#define HEAD "{\"recording\": {\"v\": 1, \"job\": \"" ID "\"}}\n"
#define JOB "{\"job\": {\"id\": \"" ID "\", \"prompt\": \"hi\"}}\n"

/* SHA-256 of "1", but for its last digit. */
#define ONE_LESS                                                               \
    "6b86b273ff34fce19d6b804eff5a3f57"                                         \
    "47ada4eaa22f1d49c01e52ddb7875b4"

static struct view encoded(const struct schema *schema, const void *message,
                           struct arena *arena)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_RECORD_BYTES };
    struct err err = { 0 };
    if (!message_encode(schema, message, &bytes, &err))
        fail_msg("%s", err.text);
    return arena_copy(arena, buf_view(&bytes));
}

static void check_same(struct view a, struct view b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
}

static void check_round(const struct recording *recording)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf text = { .max = 1 << 20 };
    const struct view *records = recording->records.items;
    struct recording again;
    struct err err = { 0 };
    if (!recording_write(recording, &text, &err) ||
        !recording_read(&again, buf_view(&text), &arena, &err))
        fail_msg("%s", err.text);
    check_same(recording->id, again.id);
    check_same(recording->body, again.body);
    assert_int_equal(recording->records.count, again.records.count);
    for (size_t i = 0; i < again.records.count; i++)
        check_same(records[i], ((struct view *)again.records.items)[i]);
    assert_int_equal(recording->result.len, again.result.len);
    const struct recorded_blob *blobs = recording->blobs.items;
    assert_int_equal(recording->blobs.count, again.blobs.count);
    for (size_t i = 0; i < again.blobs.count; i++)
        check_same(blobs[i].bytes, recording_blob(&again, blobs[i].name));
}

static void test_all_of_it_is_kept(void **state)
{
    (void)state;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct job job = { .id = VIEW(ID), .prompt = VIEW("hi") };
    const struct record result = {
        .kind = RECORD_TOOL_RESULT,
        .turn = 1,
        .call = VIEW("1.0"),
        .observation = VIEW("not \xff text, with \0 and\nlines"),
        .cell = { .code = VIEW("1"), .out = VIEW("\x80") },
    };
    const struct result end = { .id = VIEW(ID), .status = STATE_COMPLETED };
    struct recorded_blob blob = {
        .name = VIEW("ad91235e882292469812e16da0b8fc77"
                     "075a7c6d6f8760c24be14a5c792508cf"),
        .bytes = VIEW("\x89PNG\0"),
    };
    struct view records[40];
    for (size_t i = 0; i < 40; i++)
        records[i] = encoded(&schema_record, &result, &arena);
    struct recording recording = {
        .id = VIEW(ID),
        .body = encoded(&schema_job, &job, &arena),
        .records = { records, 40 },
        .blobs = { &blob, 1 },
    };
    check_round(&recording);
    recording.result = encoded(&schema_result, &end, &arena);
    check_round(&recording);
    recording.records.count = 0;
    recording.body = VIEW("\xc1 no job");
    check_round(&recording);
}

static void test_a_journal_that_is_none(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf text = { .max = 1 << 20 };
    struct view records[] = { VIEW("\xc1") };
    const struct recording recording = { .id = VIEW(ID),
                                         .body = VIEW("x"),
                                         .records = { records, 1 } };
    struct err err = { 0 };
    assert_false(recording_write(&recording, &text, &err));
    assert_string_equal(err.code, "bad_message");
    assert_non_null(strstr(err.text, "record 0 of the journal"));
}

static const struct {
    const char *what, *text, *code, *says;
} refused[] = {
    { "nothing", "", "bad_message", "no job" },
    { "no job", HEAD, "bad_message", "no job" },
    { "not JSON", HEAD "\n{\n", "bad_message", "line 3" },
    { "a list", HEAD "[1]\n", "bad_message", "one member" },
    { "two members", HEAD "{\"job\": {}, \"body\": {}}\n", "bad_message",
      "one member" },
    { "another kind", HEAD "{\"blot\": 1}\n", "bad_message", "one member" },
    { "a blob of no name", HEAD "{\"blob\": {\"base64\": \"MQ==\"}}\n",
      "bad_message", "blob must be" },
    { "a blob of another name",
      HEAD "{\"blob\": {\"name\": \"" ONE_LESS "0\", \"base64\": "
           "\"MQ==\"}}\n",
      "bad_message", ONE_LESS "0: its bytes have another SHA-256" },
    { "no beginning", JOB, "bad_message", "line 1: the first line must be" },
    { "of a later version", "{\"recording\": {\"v\": 2}}\n",
      "unsupported_version", "version 2, not 1" },
    { "nobody's", "{\"recording\": {\"v\": 1}}\n", "bad_message",
      "id of a job" },
    { "two jobs", HEAD JOB JOB, "bad_message", "line 3: a second job" },
    { "an unknown member",
      HEAD JOB "{\"record\": {\"kind\": \"tool_result\", "
               "\"turn\": 1, \"wings\": 2}}\n",
      "bad_field", "line 3: wings" },
    { "of another kind",
      HEAD JOB "{\"record\": {\"kind\": \"x\", \"turn\": 1}}", "bad_field",
      "line 3: kind" },
    { "bytes that are none", HEAD "{\"body\": {\"base64\": \"!\"}}\n",
      "bad_message", "base64" },
};

static void test_what_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct recording recording;
        struct err err = { 0 };
        print_message("%s\n", refused[i].what);
        assert_false(
            recording_read(&recording, view_of(refused[i].text), &arena, &err));
        assert_string_equal(err.code, refused[i].code);
        if (strstr(err.text, refused[i].says) == NULL)
            fail_msg("%s", err.text);
    }
}

/* Distinct ones of that many bytes, a line each. */
static void add_blobs(struct buf *text, size_t count, size_t size)
{
    struct recorded_blob blob;
    char *bytes = calloc(1, size + 1), name[65];
    for (size_t i = 0; i < count; i++) {
        unsigned char hash[32];
        memcpy(bytes, &i, sizeof(i));
        EVP_Digest(bytes, size, hash, NULL, EVP_sha256(), NULL);
        for (size_t at = 0; at < 32; at++)
            snprintf(name + 2 * at, 3, "%02x", hash[at]);
        blob = (struct recorded_blob){ view_of(name), { bytes, size } };
        struct recording recording = { .blobs = { &blob, 1 } };
        CLEANUP(buf_finish) struct buf all = { .max = MAX_RECORDING_BYTES };
        assert_true(recording_write(&recording, &all, NULL));
        buf_append(&all, "", 1);
        buf_add(text, view_of(strstr(all.data, "{\"blob\"")));
    }
    free(bytes);
}

static void test_more_blobs_than_are_written(void **state)
{
    static const struct {
        size_t count, size;
        const char *says; /* NULL: it is read */
    } rows[] = {
        { 256, 100, NULL },
        { 257, 100, ": 257 blobs, a recording has at most 256" },
        { 4, 8 << 20, NULL },
        { 4, (8 << 20) + 1,
          ": 33554436 bytes of blobs, a recording has at most 33554432" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        CLEANUP(buf_finish) struct buf text = { .max = MAX_RECORDING_BYTES };
        struct recording recording;
        struct err err = { 0 };
        buf_add(&text, VIEW(HEAD JOB));
        add_blobs(&text, rows[i].count, rows[i].size);
        bool read = recording_read(&recording, buf_view(&text), &arena, &err);
        if (read != (rows[i].says == NULL))
            fail_msg("%zu blobs: %s", rows[i].count, err.text);
        if (read)
            continue;
        assert_string_equal(err.code, "too_large");
        if (strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_is_kept),
        cmocka_unit_test(test_a_journal_that_is_none),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_more_blobs_than_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
