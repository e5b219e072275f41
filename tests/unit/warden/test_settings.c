/* The command line: what is taken, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "executor/warden/settings.h"

/* Programs that are surely there stand in for ours. */
#define PROGRAMS "--box", "/bin/true", "--guest", "/bin/true"

static const struct {
    const char *name;
    const char *args[10];
    bool taken;
} rows[] = {
    { "nothing but the programs", { PROGRAMS }, true },
    { "a size", { PROGRAMS, "--memory", "512M" }, true },
    { "a size that is none", { PROGRAMS, "--memory", "much" }, false },
    { "a size without a unit", { PROGRAMS, "--memory", "512" }, false },
    { "a negative size", { PROGRAMS, "--memory", "-1M" }, false },
    { "too little", { PROGRAMS, "--memory", "1M" }, false },
    { "a time", { PROGRAMS, "--cell-time", "30s" }, true },
    { "a time without a unit", { PROGRAMS, "--cell-time", "30" }, false },
    { "too much", { PROGRAMS, "--sessions", "100000" }, false },
    { "a profile", { PROGRAMS, "--profile", "bare" }, true },
    { "an unknown profile", { PROGRAMS, "--profile", "huge" }, false },
    { "a level", { PROGRAMS, "--level", "full" }, true },
    { "an unknown level", { PROGRAMS, "--level", "none" }, false },
    { "a mode", { PROGRAMS, "--mode", "0600" }, true },
    { "a mode that is none", { PROGRAMS, "--mode", "rw" }, false },
    { "a network", { PROGRAMS, "--network", "pypi.org" }, true },
    { "a network that is none",
      { PROGRAMS, "--network", "pypi.org:99999" },
      false },
    { "ids", { PROGRAMS, "--uid-range", "1000-1100" }, true },
    { "too few ids", { PROGRAMS, "--uid-range", "1000-1001" }, false },
    { "no ids of their own", { PROGRAMS, "--uid-range", "off" }, true },
    { "cgroups of a third kind", { PROGRAMS, "--cgroup", "on" }, false },
    { "an index without a list", { PROGRAMS, "--packages", "index" }, false },
    { "an index with one",
      { PROGRAMS, "--packages", "index", "--packages-allow", "numpy" },
      true },
    { "a network without boxes",
      { PROGRAMS, "--network", "pypi.org", "--insecure" },
      false },
    { "an unknown flag", { PROGRAMS, "--fast" }, false },
    { "a word too many", { PROGRAMS, "now" }, false },
};

static bool read_row(size_t row, struct executor_settings *settings)
{
    char program[] = "quern-executor";
    char *argv[12] = { program };
    int argc = 1, status = 0;
    for (const char *const *arg = rows[row].args; *arg; arg++)
        argv[argc++] = (char *)(uintptr_t)*arg;
    return settings_read(settings, argv, &status);
}

static void flags_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct executor_settings settings;
        if (read_row(i, &settings) != rows[i].taken)
            fail_msg("%s", rows[i].name);
        settings_finish(&settings);
    }
}

static void values_arrive(void **state)
{
    (void)state;
    struct executor_settings settings;
    assert_true(read_row(1, &settings));
    assert_int_equal(settings.limits.memory_bytes, 512 << 20);
    assert_int_equal(settings.sessions, 256);
    assert_int_equal(settings.mode, 0660);
    assert_string_equal(settings.box_path, "/bin/true");
    settings_finish(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_are_read),
        cmocka_unit_test(values_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
