/* test_cron.c - when schedules go off, and where clocks change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/cron.h"

/* "2026-03-29 01:30:00" of UTC, in ms since 1970. */
static uint64_t instant(const char *text)
{
    int year, month, day, hour, minute, second;

    assert_int_equal(sscanf(text, "%d-%d-%d %d:%d:%d", &year, &month, &day,
                            &hour, &minute, &second),
                     6);
    return (uint64_t)(day_of_date((struct date){ year, month, day }) * 86400 +
                      hour * 3600 + minute * 60 + second) *
           1000;
}

static const char *text_of(uint64_t ms)
{
    static char text[32];
    int64_t seconds = (int64_t)(ms / 1000);
    int64_t day = floor_div(seconds, 86400);
    int rest = (int)(seconds - day * 86400);
    struct date date = date_of_day(day);

    if (ms == 0)
        return "never";
    snprintf(text, sizeof(text), "%04d-%02d-%02d %02d:%02d:%02d",
             (int)date.year, date.month, date.day, rest / 3600, rest / 60 % 60,
             rest % 60);
    return text;
}

/* What, its schedule, its zone; after that time of UTC it goes off then, and
 * then. */
static const struct {
    const char *what, *spec, *zone, *after, *then[3];
} nexts[] = {
    { "every minute",
      "* * * * *",
      "",
      "2026-01-01 00:00:30",
      { "2026-01-01 00:01:00", "2026-01-01 00:02:00" } },
    { "a minute that has just begun is over",
      "* * * * *",
      "",
      "2026-01-01 00:00:00",
      { "2026-01-01 00:01:00" } },
    { "a step of *",
      "*/20 * * * *",
      "",
      "2026-01-01 00:45:00",
      { "2026-01-01 01:00:00", "2026-01-01 01:20:00" } },
    { "a step of a range",
      "10-30/10 5 * * *",
      "",
      "2026-01-01 05:10:00",
      { "2026-01-01 05:20:00", "2026-01-01 05:30:00", "2026-01-02 05:10:00" } },
    { "a list",
      "0 8,12-13,20 * * *",
      "",
      "2026-01-01 08:00:00",
      { "2026-01-01 12:00:00", "2026-01-01 13:00:00", "2026-01-01 20:00:00" } },
    { "weekdays by name",
      "30 6 * * Mon-FRI",
      "",
      "2026-01-02 12:00:00",
      { "2026-01-05 06:30:00" } },
    { "a range of weekdays that ends on Sunday",
      "0 0 * * sat-sun",
      "",
      "2026-01-02 00:00:00",
      { "2026-01-03 00:00:00", "2026-01-04 00:00:00", "2026-01-10 00:00:00" } },
    { "7 is Sunday",
      "0 0 * * 7",
      "",
      "2026-01-02 00:00:00",
      { "2026-01-04 00:00:00", "2026-01-11 00:00:00" } },
    { "months by name",
      "0 0 1 feb,dec *",
      "",
      "2026-01-02 00:00:00",
      { "2026-02-01 00:00:00", "2026-12-01 00:00:00", "2027-02-01 00:00:00" } },
    { "a day or a weekday",
      "0 0 13 * fri",
      "",
      "2026-01-03 00:00:00",
      { "2026-01-09 00:00:00", "2026-01-13 00:00:00", "2026-01-16 00:00:00" } },
    { "a day that begins with * and a weekday",
      "0 0 */10 * fri",
      "",
      "2026-01-01 00:00:00",
      { "2026-05-01 00:00:00" } },
    { "the 31st leaves months out",
      "0 0 31 * *",
      "",
      "2026-01-31 00:00:00",
      { "2026-03-31 00:00:00", "2026-05-31 00:00:00" } },
    { "February 29",
      "0 0 29 2 *",
      "",
      "2026-01-01 00:00:00",
      { "2028-02-29 00:00:00", "2032-02-29 00:00:00" } },
    { "February 29, over the year 2100",
      "0 0 29 2 *",
      "",
      "2096-02-29 00:00:00",
      { "2104-02-29 00:00:00" } },
    { "the end of the year",
      "59 23 31 12 *",
      "",
      "2026-12-31 23:59:00",
      { "2027-12-31 23:59:00" } },
    { "@hourly",
      "@hourly",
      "",
      "2026-01-01 00:10:00",
      { "2026-01-01 01:00:00" } },
    { "@weekly is Sunday",
      "@weekly",
      "",
      "2026-01-01 00:00:00",
      { "2026-01-04 00:00:00" } },
    { "@yearly",
      "@yearly",
      "",
      "2026-01-01 00:00:00",
      { "2027-01-01 00:00:00" } },
    { "every 15m is on the quarters",
      "every 15m",
      "",
      "2026-01-01 00:16:01",
      { "2026-01-01 00:30:00", "2026-01-01 00:45:00" } },
    { "every 90s",
      "every 90s",
      "",
      "2026-01-01 00:00:00",
      { "2026-01-01 00:01:30", "2026-01-01 00:03:00" } },
    { "blanks in between and around",
      "  0\t 6  *  * *  ",
      "",
      "2026-01-01 00:00:00",
      { "2026-01-01 06:00:00" } },

    { "six in Berlin, in winter and in summer",
      "0 6 * * *",
      "Europe/Berlin",
      "2026-03-28 00:00:00",
      { "2026-03-28 05:00:00", "2026-03-29 04:00:00" } },
    { "an hour that is left out: at its end",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-03-28 12:00:00",
      { "2026-03-29 01:00:00", "2026-03-30 00:30:00" } },
    { "... once, however much was due in it",
      "*/5 2 * * *",
      "Europe/Berlin",
      "2026-03-28 12:00:00",
      { "2026-03-29 01:00:00", "2026-03-30 00:00:00" } },
    { "... and once with what is due at its end",
      "0 2,3 * * *",
      "Europe/Berlin",
      "2026-03-28 12:00:00",
      { "2026-03-29 01:00:00", "2026-03-30 00:00:00" } },
    { "any hour: not in the one left out",
      "30 */2 * * *",
      "Europe/Berlin",
      "2026-03-28 23:00:00",
      { "2026-03-28 23:30:00", "2026-03-29 02:30:00" } },
    { "an hour that comes twice: the first time",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24 12:00:00",
      { "2026-10-25 00:30:00", "2026-10-26 01:30:00" } },
    { "... also of what is due often in it",
      "*/30 2 * * *",
      "Europe/Berlin",
      "2026-10-25 00:00:00",
      { "2026-10-25 00:30:00", "2026-10-26 01:00:00" } },
    { "any hour: both times",
      "30 * * * *",
      "Europe/Berlin",
      "2026-10-25 00:00:00",
      { "2026-10-25 00:30:00", "2026-10-25 01:30:00", "2026-10-25 02:30:00" } },
    { "asked within the second time",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-25 01:10:00",
      { "2026-10-26 01:30:00" } },
    { "by the rule, after the last change of the file",
      "30 2 * * *",
      "Europe/Berlin",
      "2060-03-27 12:00:00",
      { "2060-03-28 01:00:00", "2060-03-29 00:30:00" } },
    { "clocks that change at midnight",
      "0 0 * * *",
      "America/Santiago",
      "2026-09-05 12:00:00",
      { "2026-09-06 04:00:00", "2026-09-07 03:00:00" } },
    { "half an hour left out",
      "15 2 * * *",
      "Australia/Lord_Howe",
      "2026-10-03 12:00:00",
      { "2026-10-03 15:30:00", "2026-10-04 15:15:00" } },
    { "a whole day left out",
      "0 12 30 12 *",
      "Pacific/Apia",
      "2011-12-01 00:00:00",
      { "2011-12-30 10:00:00", "2012-12-29 22:00:00" } },
    { "winter time that is called summer time",
      "30 1 * * *",
      "Europe/Dublin",
      "2026-03-28 12:00:00",
      { "2026-03-29 01:00:00", "2026-03-30 00:30:00" } },
    { "an offset with half an hour",
      "0 0 * * *",
      "Asia/Kolkata",
      "2026-01-01 00:00:00",
      { "2026-01-01 18:30:00" } },
};

static void test_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(nexts) / sizeof(nexts[0]); i++) {
        struct err err = { 0 };
        struct zone *zone = zone_open(view_of(nexts[i].zone), &err);
        uint64_t at = instant(nexts[i].after);
        struct cron cron;

        if (!zone || !cron_parse(&cron, view_of(nexts[i].spec), &err))
            fail_msg("%s: %s", nexts[i].what, err.text);
        for (int n = 0; n < 3 && nexts[i].then[n]; n++) {
            at = cron_next(&cron, zone, at);
            if (strcmp(text_of(at), nexts[i].then[n]) != 0)
                fail_msg("%s: at %s, not at %s", nexts[i].what, text_of(at),
                         nexts[i].then[n]);
        }
        zone_free(zone);
    }
}

static void test_the_calendar_ends(void **state)
{
    struct zone *zone = zone_open(VIEW("UTC"), NULL);
    struct cron cron;

    (void)state;
    assert_true(cron_parse(&cron, VIEW("@yearly"), NULL));
    assert_int_equal(cron_next(&cron, zone, instant("9999-06-01 00:00:00")), 0);
    assert_int_equal(cron_next(&cron, zone, UINT64_MAX), 0);
    assert_true(cron_parse(&cron, VIEW("every 1d"), NULL));
    assert_int_equal(cron_next(&cron, zone, instant("9999-12-31 12:00:00")), 0);
    zone_free(zone);
}

static const struct {
    const char *spec, *says;
} wrongs[] = {
    { "", "has 0 fields, not 5" },
    { "* * * *", "has 4 fields, not 5" },
    { "* * * * * *", "has 6 fields, not 5" },
    { "60 * * * *", "minute: \"60\" is not 0 to 59" },
    { "-1 * * * *", "minute: \"-1\" is not 0 to 59" },
    { "* 24 * * *", "hour: \"24\" is not 0 to 23" },
    { "* * 0 * *", "day: \"0\" is not 1 to 31" },
    { "* * * 13 *", "month: \"13\" is not 1 to 12, a name" },
    { "* * * * 8", "weekday: \"8\" is not 0 to 7, a name" },
    { "* * * * moon", "weekday: \"moon\" is not 0 to 7, a name" },
    { "* mon * * *", "hour: \"mon\" is not 0 to 23" },
    { "30-10 * * * *", "minute: \"30-10\" is not 0 to 59, a range" },
    { "5/15 * * * *", "minute: in \"5/15\" the step must be 1 to 59, of *" },
    { "*/0 * * * *", "minute: in \"*/0\" the step must be 1 to 59" },
    { "*/x * * * *", "minute: \"*/x\" is not 0 to 59" },
    { "1,,2 * * * *", "minute: \"\" is not 0 to 59" },
    { "1, * * * *", "minute: \"1,\" is not 0 to 59" },
    { "99999 * * * *", "minute: \"99999\" is not 0 to 59" },
    { "0 0 31 2,4 *", "never goes off: no such month has such a day" },
    { "@reboot", "\"@reboot\" is none of @hourly" },
    { "every 5", "every \"5\" is not 1s to 366d" },
    { "every 0m", "every \"0m\" is not 1s to 366d" },
    { "every 367d", "every \"367d\" is not 1s to 366d" },
    { "every -5m", "every \"-5m\" is not 1s to 366d" },
    { "every", "has 1 fields, not 5" },
};

static void test_wrong(void **state)
{
    char lengthy[MAX_CRON_BYTES + 2];
    struct cron cron;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        if (cron_parse(&cron, view_of(wrongs[i].spec), &err))
            fail_msg("\"%s\" is taken", wrongs[i].spec);
        if (!strstr(err.text, wrongs[i].says))
            fail_msg("\"%s\": %s", wrongs[i].spec, err.text);
        assert_string_equal(err.code, "bad_field");
    }
    /* As a C string each of them would be a good schedule. */
    const struct view nuls[] = { VIEW_INIT("* * * * *\0"),
                                 VIEW_INIT("\0* * * * *"),
                                 VIEW_INIT("every 5m\0"),
                                 VIEW_INIT("every \0005m"),
                                 VIEW_INIT("@daily\0") };
    for (size_t i = 0; i < sizeof(nuls) / sizeof(nuls[0]); i++) {
        if (cron_parse(&cron, nuls[i], &err))
            fail_msg("a schedule with a NUL is taken, row %zu", i);
        assert_string_equal(err.code, "bad_field");
    }
    memset(lengthy, '1', sizeof(lengthy));
    assert_false(
        cron_parse(&cron, (struct view){ lengthy, sizeof(lengthy) }, &err));
    assert_string_equal(err.code, "too_large");
}

static void test_a_day_may_be_out_of_reach_but_its_weekday_is_not(void **state)
{
    struct cron cron;

    (void)state;
    assert_true(cron_parse(&cron, VIEW("0 0 31 2 mon"), NULL));
    assert_false(cron_parse(&cron, VIEW("0 0 30 2 *"), NULL));
    assert_false(cron_parse(&cron, VIEW("0 0 30 2 */2"), NULL));
}

static void test_no_such_zone(void **state)
{
    static const char *const names[] = {
        "Europe/Atlantis",
        "../../../etc/passwd",
        "/etc/passwd",
        "Europe",
        "zone.tab",
        "a b",
        "",
    };
    struct err err;

    (void)state;
    for (int i = 0; *names[i]; i++) {
        struct zone *zone = zone_open(view_of(names[i]), &err);

        if (zone)
            fail_msg("%s is a zone", names[i]);
        assert_string_equal(err.code, "bad_field");
    }
}

static void test_days_and_dates(void **state)
{
    (void)state;
    for (int64_t day = -800000; day < 3000000; day += 13) {
        struct date date = date_of_day(day);

        assert_int_equal(day_of_date(date), day);
        assert_true(date.month >= 1 && date.month <= 12);
        assert_true(date.day >= 1 && date.day <= 31);
    }
    assert_int_equal(day_of_date((struct date){ 2000, 3, 1 }), 11017);
    assert_int_equal(weekday_of_day(0), 4);
    assert_int_equal(weekday_of_day(-5), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_the_calendar_ends),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_a_day_may_be_out_of_reach_but_its_weekday_is_not),
        cmocka_unit_test(test_no_such_zone),
        cmocka_unit_test(test_days_and_dates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
