/* test_amount.c - numbers with units: what is read, refused, written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/settings/amount.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GIB (UINT64_C(1) << 30)

static const struct {
    enum amount_kind kind;
    const char *text;
    uint64_t value;
    const char *written; /* NULL: as text */
} taken[] = {
    { AMOUNT_COUNT, "0", 0, NULL },
    { AMOUNT_COUNT, "12", 12, NULL },
    { AMOUNT_COUNT, "18446744073709551615", UINT64_MAX, NULL },
    { AMOUNT_TIME, "0", 0, NULL },
    { AMOUNT_TIME, "0s", 0, "0" },
    { AMOUNT_TIME, "500ms", 500, NULL },
    { AMOUNT_TIME, "1500ms", 1500, NULL },
    { AMOUNT_TIME, "30s", 30000, NULL },
    { AMOUNT_TIME, "90s", 90000, NULL },
    { AMOUNT_TIME, "60s", 60000, "1m" },
    { AMOUNT_TIME, "5m", 300000, NULL },
    { AMOUNT_TIME, "2h", 7200000, NULL },
    { AMOUNT_TIME, "48h", 172800000, "2d" },
    { AMOUNT_TIME, "7d", 604800000, NULL },
    { AMOUNT_SIZE, "0", 0, NULL },
    { AMOUNT_SIZE, "100B", 100, NULL },
    { AMOUNT_SIZE, "64K", 64 << 10, NULL },
    { AMOUNT_SIZE, "64k", 64 << 10, "64K" },
    { AMOUNT_SIZE, "512M", 512 << 20, NULL },
    { AMOUNT_SIZE, "1024M", GIB, "1G" },
    { AMOUNT_SIZE, "2g", 2 * GIB, "2G" },
    { AMOUNT_SIZE, "1T", 1024 * GIB, NULL },
    { AMOUNT_DOLLARS, "0", 0, NULL },
    { AMOUNT_DOLLARS, "2", 2000000, NULL },
    { AMOUNT_DOLLARS, "0.05", 50000, NULL },
    { AMOUNT_DOLLARS, "1.", 1000000, "1" },
    { AMOUNT_DOLLARS, "10", 10000000, NULL },
    { AMOUNT_DOLLARS, "12.345678", 12345678, NULL },
    { AMOUNT_DOLLARS, "999999999", UINT64_C(999999999000000), NULL },
};

static void good_ones_are_read_and_written_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(taken); i++) {
        struct amount_range range = { taken[i].kind, 0, 0 };
        const char *written =
            taken[i].written ? taken[i].written : taken[i].text;
        char text[AMOUNT_BYTES];
        uint64_t value = 1;
        struct err err = { 0 };
        if (!amount_read(&value, &range, taken[i].text, &err))
            fail_msg("%s: %s", taken[i].text, err.text);
        if (value != taken[i].value)
            fail_msg("%s: read as %llu", taken[i].text,
                     (unsigned long long)value);
        amount_write(text, taken[i].kind, value);
        if (strcmp(text, written) != 0)
            fail_msg("%s: written as %s", taken[i].text, text);
    }
}

static const struct {
    struct amount_range range;
    const char *text, *says;
} refused[] = {
    { { AMOUNT_COUNT, 0, 0 }, "", "must be a number" },
    { { AMOUNT_COUNT, 0, 0 }, "-1", "must be a number" },
    { { AMOUNT_COUNT, 0, 0 }, " 1", "must be a number" },
    { { AMOUNT_COUNT, 0, 0 }, "1k", "must be a number" },
    { { AMOUNT_COUNT, 0, 0 }, "18446744073709551616", "must be a number" },
    { { AMOUNT_COUNT, 1, 9 }, "10", "must be a number from 1 to 9" },
    { { AMOUNT_COUNT, 1, 0 }, "0", "must be a number of at least 1" },
    { { AMOUNT_TIME, 300, 3600000 }, "5ms", "must be a time from 300ms to 1h" },
    { { AMOUNT_TIME, 0, 1000 }, "2s", "must be a time from 0 to 1s" },
    { { AMOUNT_TIME, 1, 0 }, "0", "must be a time of at least 1ms" },
    { { AMOUNT_TIME, 0, 0 }, "30", "must have a unit: 30ms, 30s or 30m" },
    { { AMOUNT_TIME, 0, 0 },
      "soon",
      "must be a time, such as 500ms, 30s, 5m, 2h or 1d" },
    { { AMOUNT_TIME, 300, 3600000 },
      "1w",
      "must be a time from 300ms to 1h, such as 500ms, 30s, 5m, 2h or 1d" },
    { { AMOUNT_TIME, 0, 0 }, "30S", "must be a time, such as" },
    { { AMOUNT_TIME, 0, 0 }, "1.5s", "must be a time, such as" },
    { { AMOUNT_TIME, 0, 0 }, "1s ", "must be a time, such as" },
    { { AMOUNT_TIME, 0, 0 }, "-1s", "must be a time, such as" },
    { { AMOUNT_TIME, 0, 0 }, "213503982335d", "must be a time, such as" },
    { { AMOUNT_SIZE, 0, 0 }, "512", "must have a unit: 512B, 512K or 512M" },
    { { AMOUNT_SIZE, 0, 0 },
      "lots",
      "must be a size, such as 64K, 512M or 2G" },
    { { AMOUNT_SIZE, 0, 0 }, "16777216T", "must be a size, such as" },
    { { AMOUNT_SIZE, 0, 0 }, "1MiB", "must be a size, such as" },
    { { AMOUNT_DOLLARS, 0, 0 },
      "$1",
      "must be an amount of dollars, such as 2 or 0.05" },
    { { AMOUNT_DOLLARS, 0, 0 }, "0.0000001", "must be an amount of dollars" },
    { { AMOUNT_DOLLARS, 0, 0 }, "1000000000", "must be an amount of dollars" },
    { { AMOUNT_DOLLARS, 0, 0 }, "1.2.3", "must be an amount of dollars" },
    { { AMOUNT_DOLLARS, 0, 0 }, ".5", "must be an amount of dollars" },
    { { AMOUNT_DOLLARS, 1, 2000000 },
      "0",
      "must be an amount of dollars from 0.000001 to 2" },
};

static void bad_ones_are_refused_in_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        uint64_t value = 77;
        struct err err = { 0 };
        if (amount_read(&value, &refused[i].range, refused[i].text, &err))
            fail_msg("%s: was taken", refused[i].text);
        if (strncmp(err.text, refused[i].says, strlen(refused[i].says)) != 0)
            fail_msg("%s: %s", refused[i].text, err.text);
        assert_int_equal(value, 77);
        assert_string_equal(err.code, "bad_setting");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_are_read_and_written_short),
        cmocka_unit_test(bad_ones_are_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
