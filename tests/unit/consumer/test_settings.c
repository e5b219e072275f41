/* test_settings.c - the table of quern-consumer: defaults, and its own rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/settings.h"

enum { MAX_ARGS = 4 };

static const struct row {
    const char *flags[MAX_ARGS];
    const char *says; /* the refusal; NULL: it is taken */
} rows[] = {
    { { NULL }, NULL },
    { { "--redis-url", "redis+cluster://a,b" }, NULL },
    { { "--redis-url", "http://x" }, "--redis-url: Redis URL: it must begin" },
    { { "--redis-url", "redis://u:secret@h:x" }, "--redis-url: Redis URL:" },
    { { "--redis", "redis://h" },
      "there is no flag --redis; did you mean --redis-url?" },
    { { "--prefix", "a{b}" }, "--prefix is \"a{b}\": key prefix may hold" },
    { { "--durability", "replica:2" }, NULL },
    { { "--durability", "disk" }, "--durability is \"disk\"" },
    { { "--queues", "a,b" }, NULL },
    { { "--queues", "a b/c" }, "\"b/c\" is not a valid name of a queue" },
    { { "--name", "me and you" }, "--name is \"me and you\", must be 1 to" },
    { { "--approval-default", "skip" }, NULL },
    { { "--approval-default", "ask" }, "must be abort or skip" },
    { { "--blob-url", "https://h/{blob}" }, NULL },
    { { "--blob-url", "https://h/" }, "must have {blob} in it" },
    { { "--lease", "299ms" }, "must be a time from 300ms to 1h" },
    { { "--max-cost", "0.05" }, NULL },
    { { "--max-cost", "$1" }, "must be an amount of dollars" },
    { { "--memory", "512M" }, NULL },
    { { "--memory", "512" }, "must have a unit: 512B, 512K or 512M" },
    { { "--history-size", "1M" }, "must be a size from 0 to 512K" },
};

static bool load(struct consumer_settings *settings, const struct row *row,
                 struct err *err)
{
    const char *argv[MAX_ARGS + 2] = { "quern-consumer" };
    enum setting_request wish;
    for (size_t i = 0; i < MAX_ARGS && row->flags[i]; i++)
        argv[i + 1] = row->flags[i];
    *settings = (struct consumer_settings){ 0 };
    return setting_load(&settings_table, settings,
                        (char *const *)(uintptr_t)argv, &wish, err);
}

static void the_rules_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct consumer_settings settings;
        struct err err = { 0 };
        const char *what = rows[i].flags[1] ? rows[i].flags[1] : "no flags";
        bool ok = load(&settings, &rows[i], &err);
        if (ok != !rows[i].says)
            fail_msg("%s: %s", what, ok ? "was accepted" : err.text);
        if (!ok && !strstr(err.text, rows[i].says))
            fail_msg("%s: says \"%s\"", what, err.text);
        if (strstr(err.text, "secret"))
            fail_msg("%s: tells a secret: %s", what, err.text);
        setting_finish(&settings_table, &settings);
    }
}

static void defaults_arrive(void **state)
{
    struct consumer_settings settings;
    struct err err;
    (void)state;
    assert_true(load(&settings, &rows[0], &err));
    assert_string_equal(settings.redis.url, "redis://127.0.0.1:6379");
    assert_string_equal(settings.redis.prefix, "quern:");
    assert_string_equal(settings.queues, "default");
    assert_int_equal(settings.lease_ms, 30000);
    assert_int_equal(settings.drain_ms, 25000);
    assert_int_equal(settings.result.ttl_ms, 86400000);
    assert_int_equal(settings.result.dead_ttl_ms, 604800000);
    assert_int_equal(settings.session.bytes, 134217728);
    assert_int_equal(settings.session.history_bytes, 65536);
    assert_int_equal(settings.search.cache_bytes, 4194304);
    assert_int_equal(settings.limits.image_bytes, 4194304);
    assert_int_equal(settings.limits.max_cost, 0);
    assert_true(settings.session.save);
    assert_string_equal(settings.approval.otherwise, "abort");
    setting_finish(&settings_table, &settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rules_are_told),
        cmocka_unit_test(defaults_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
