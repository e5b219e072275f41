/* test_link_token.c - the token of a link opens what it was made for, and
 * nothing else opens anything. */
#include <string.h>

#include "producer/gateway/link_token.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define JOB "019aa5c8-1b2c-7001-8000-0123456789ab"

enum { NOW = 1800000000 };

static const unsigned char secret[LINK_SECRET_BYTES] = "0123456789abcdef";
static const struct file_link chart = { LINK_IMAGE, NOW + 60, JOB,
                                        "figure-1.png" };

static struct file_link *read_token(struct view token)
{
    static struct file_link target;

    return link_token_read(&target, token, secret, NOW) ? &target : NULL;
}

/* Gateways of two builds must read each other's links. */
static void test_is_this_text(void **state)
{
    char token[LINK_TOKEN_BYTES];

    (void)state;
    assert_true(link_token_write(token, &chart, secret));
    assert_string_equal(token, "AWkAAAAAa0nSPAGapcgbLHABgAABI0VniatmaWd1"
                               "cmUtMS5wbmfxzcahWQTnS-P9dFnq_Pxt");
}

static void test_reads_what_it_wrote(void **state)
{
    static const char *const names[] = { "a", "größe & (x).csv", "../x",
                                         "+/=" };
    char token[LINK_TOKEN_BYTES], longest[MAX_FILE_NAME_BYTES + 1];
    struct file_link given = chart;
    const struct file_link *got;

    (void)state;
    memset(longest, 'n', MAX_FILE_NAME_BYTES);
    longest[MAX_FILE_NAME_BYTES] = '\0';
    for (size_t i = 0; i < 5; i++) {
        given.kind = i % 2 ? LINK_IMAGE : LINK_FILE;
        strcpy(given.name, i < 4 ? names[i] : longest);
        assert_true(link_token_write(token, &given, secret));
        assert_null(strpbrk(token, "+/="));
        got = read_token(view_of(token));
        assert_non_null(got);
        assert_int_equal(got->kind, given.kind);
        assert_int_equal(got->expires_at, NOW + 60);
        assert_string_equal(got->job, JOB);
        assert_string_equal(got->name, given.name);
    }
}

static void test_is_not_made_of_nothing(void **state)
{
    char token[LINK_TOKEN_BYTES];
    struct file_link given = chart;

    (void)state;
    given.name[0] = '\0';
    assert_false(link_token_write(token, &given, secret));
    given = chart;
    given.job[8] = '0';
    assert_false(link_token_write(token, &given, secret));
}

/* Each character is changed in each way that base64url has. */
static void test_a_changed_one_opens_nothing(void **state)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
                                  "nopqrstuvwxyz0123456789-_+/= ";
    char token[LINK_TOKEN_BYTES], was;

    (void)state;
    assert_true(link_token_write(token, &chart, secret));
    for (size_t i = 0; token[i]; i++) {
        was = token[i];
        for (const char *c = letters; *c; c++) {
            token[i] = *c;
            if (*c != was && read_token(view_of(token)))
                fail_msg("%c at %zu is taken for %c", *c, i, was);
        }
        token[i] = was;
    }
    assert_non_null(read_token(view_of(token)));
}

static void test_a_cut_or_longer_one_opens_nothing(void **state)
{
    char token[LINK_TOKEN_BYTES + 600] = "";

    (void)state;
    assert_true(link_token_write(token, &chart, secret));
    for (size_t len = 0; len < strlen(token); len++)
        assert_null(read_token((struct view){ token, len }));
    for (size_t len = strlen(token); len + 1 < sizeof(token); len++) {
        token[len] = 'A';
        assert_null(read_token(view_of(token)));
    }
}

static void test_another_secret_opens_nothing(void **state)
{
    unsigned char other[LINK_SECRET_BYTES];
    char token[LINK_TOKEN_BYTES];
    struct file_link target;

    (void)state;
    assert_true(link_token_write(token, &chart, secret));
    for (size_t i = 0; i < sizeof(other); i++) {
        memcpy(other, secret, sizeof(other));
        other[i] ^= 1;
        assert_false(link_token_read(&target, view_of(token), other, NOW));
    }
}

static void test_it_expires(void **state)
{
    char token[LINK_TOKEN_BYTES];
    struct file_link target;

    (void)state;
    assert_true(link_token_write(token, &chart, secret));
    assert_true(link_token_read(&target, view_of(token), secret, NOW + 59));
    assert_false(link_token_read(&target, view_of(token), secret, NOW + 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_this_text),
        cmocka_unit_test(test_reads_what_it_wrote),
        cmocka_unit_test(test_is_not_made_of_nothing),
        cmocka_unit_test(test_a_changed_one_opens_nothing),
        cmocka_unit_test(test_a_cut_or_longer_one_opens_nothing),
        cmocka_unit_test(test_another_secret_opens_nothing),
        cmocka_unit_test(test_it_expires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
