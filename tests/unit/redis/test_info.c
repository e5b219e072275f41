/* test_info.c - what INFO says, as a consumer and the doctor judge it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/redis/info.h"

static void values(void **state)
{
    (void)state;

    static const struct {
        const char *info, *name, *value;
    } rows[] = {
        { "a:1\r\nb:2\r\n", "a", "1" }, { "a:1\r\nb:2\r\n", "b", "2" },
        { "a:1\nb:2", "b", "2" },       { "# a\r\nab:1\r\na:2", "a", "2" },
        { "a:1:2\r\n", "a", "1:2" },    { "a:\r\n", "a", "" },
        { "a\r\n", "a", "" },           { "", "a", "" },
        { "xa:1\r\n", "a", "" },        { "a", "a", "" },
        { "a:1\r\na:2\r\n", "a", "1" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!info_is(view_of(rows[i].info), rows[i].name, rows[i].value))
            fail_msg("%s of %s", rows[i].name, rows[i].info);
}

#define GOOD "redis_version:7.0.15\r\naof_enabled:1\r\n"
#define KEEPS "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"

static void verdicts(void **state)
{
    (void)state;

    static const struct {
        const char *info, *fsync, *check;
        enum info_level level;
        const char *says;
    } rows[] = {
        { GOOD KEEPS, NULL, "version", INFO_FINE, "Redis 7.0.15" },
        { "redis_version:6.2.14\r\n", NULL, "version", INFO_FAULT, "6.2.14" },
        { "redis_version:10.0.0\r\n", NULL, "version", INFO_FINE, "10.0.0" },
        { "redis_version:7.2.4\r\nvalkey_version:8.1.1\r\n", NULL, "version",
          INFO_FINE, "Valkey 8.1.1" },
        { GOOD KEEPS, NULL, "storage", INFO_FINE, "is on" },
        { GOOD KEEPS, "always", "storage", INFO_FINE, "appendfsync always" },
        { GOOD KEEPS, "no", "storage", INFO_WARNING, "half a minute" },
        { "aof_enabled:0\r\n", NULL, "storage", INFO_WARNING, "last snapshot" },
        { GOOD "aof_last_write_status:err\r\n", NULL, "storage", INFO_FAULT,
          "cannot write" },
        { GOOD KEEPS, NULL, "eviction", INFO_FINE, "noeviction" },
        { "maxmemory:9\r\nmaxmemory_policy:allkeys-lru\r\n", NULL, "eviction",
          INFO_FAULT, "drop jobs" },
        { "maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", NULL, "eviction",
          INFO_WARNING, "once it has a limit" },
        { "maxmemory:9\r\nmaxmemory_policy:volatile-ttl\r\n", NULL, "eviction",
          INFO_WARNING, "drop results and files" },
        /* A service leaves out lines. */
        { "role:master\r\n", NULL, "version", INFO_UNSEEN, "does not say" },
        { "role:master\r\n", NULL, "storage", INFO_UNSEEN, "does not say" },
        { "role:master\r\n", NULL, "eviction", INFO_UNSEEN, "does not say" },
        { "maxmemory:9\r\n", NULL, "eviction", INFO_UNSEEN, "does not say" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct finding findings[INFO_CHECKS];
        const struct finding *found = findings;

        info_judge(view_of(rows[i].info), rows[i].fsync, findings);
        while (strcmp(found->check, rows[i].check) != 0)
            found++;
        if (found->level != rows[i].level ||
            !strstr(found->text, rows[i].says) ||
            (found->level > INFO_UNSEEN && !found->remedy) ||
            (found->level == INFO_FINE && found->remedy))
            fail_msg("%s: %s", rows[i].info, found->text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
