/* Where a process stands among the cgroups, as /proc/self tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "executor/warden/hierarchy.h"

#define MEMORY (1U << CONTROLLER_MEMORY)
#define PIDS (1U << CONTROLLER_PIDS)
#define CPU (1U << CONTROLLER_CPU)

#define UNIFIED                                                                \
    "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define LEGACY(names)                                                          \
    "32 31 0:29 / /c/" names " rw shared:9 - cgroup cgroup rw," names "\n"

static const struct {
    const char *name;
    const char *cgroup, *mountinfo;
    struct hierarchy found[2]; /* version 0: no more */
} rows[] = {
    { "version 2",
      "0::/a.slice/b.service\n",
      UNIFIED,
      { { 2, 0, "/sys/fs/cgroup/a.slice/b.service" } } },
    { "version 2, in its root",
      "0::/\n",
      UNIFIED,
      { { 2, 0, "/sys/fs/cgroup/" } } },
    { "version 1",
      "4:memory:/m\n8:pids:/\n",
      LEGACY("memory") LEGACY("pids"),
      { { 1, MEMORY, "/c/memory/m" }, { 1, PIDS, "/c/pids/" } } },
    { "two controllers in one",
      "2:cpu,cpuacct:/x\n",
      LEGACY("cpu,cpuacct"),
      { { 1, CPU, "/c/cpu,cpuacct/x" } } },
    { "cpuset is not cpu", "2:cpuset:/x\n", LEGACY("cpuset"), { { 0 } } },
    { "both versions",
      "4:memory:/m\n0::/u\n",
      LEGACY("memory") UNIFIED,
      { { 1, MEMORY, "/c/memory/m" }, { 2, 0, "/sys/fs/cgroup/u" } } },
    { "mounted twice",
      "4:memory:/m\n",
      LEGACY("memory") LEGACY("memory"),
      { { 1, MEMORY, "/c/memory/m" } } },
    { "a container's mount",
      "4:memory:/docker/7/x\n",
      "1 2 0:3 /docker/7 /c rw - cgroup cgroup rw,memory\n",
      { { 1, MEMORY, "/c/x" } } },
    { "a mount of somebody else's cgroup",
      "4:memory:/docker/77\n",
      "1 2 0:3 /docker/7 /c rw - cgroup cgroup rw,memory\n",
      { { 0 } } },
    { "a cgroup outside of the namespace", "0::/../x\n", UNIFIED, { { 0 } } },
    { "a colon in the path",
      "0::/a:b\n",
      UNIFIED,
      { { 2, 0, "/sys/fs/cgroup/a:b" } } },
    { "a space in the path of the mount",
      "0::/x\n",
      "1 2 0:3 / /a\\040b rw - cgroup2 cgroup2 rw\n",
      { { 2, 0, "/a b/x" } } },
    { "no cgroups", "", "1 2 0:3 / /proc rw - proc proc rw\n", { { 0 } } },
    { "lines that are cut off",
      "0:\n4\n",
      "1 2 0:3\n1 2 - \n - cgroup\n",
      { { 0 } } },
};

static FILE *open_text(const char *text)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    rewind(file);
    return file;
}

static void hierarchies_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hierarchy found[MAX_HIERARCHIES] = { 0 };
        FILE *cgroup = open_text(rows[i].cgroup);
        FILE *mountinfo = open_text(rows[i].mountinfo);
        size_t count = hierarchies_find(cgroup, mountinfo, found), expected = 0;
        for (; expected < 2 && rows[i].found[expected].version; expected++) {
            const struct hierarchy *row = &rows[i].found[expected];
            if (found[expected].version != row->version ||
                found[expected].controllers != row->controllers ||
                strcmp(found[expected].folder, row->folder) != 0)
                fail_msg("%s: %s", rows[i].name, found[expected].folder);
        }
        if (count != expected)
            fail_msg("%s: %zu found", rows[i].name, count);
        fclose(cgroup);
        fclose(mountinfo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchies_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
