/* memory.c - how much memory a box takes: what its cgroup says, or its /proc.
 *
 * In /proc the sum of resident pages is cheap to get, but counts pages that
 * forks share once for each process. So only when that sum is too large, the
 * proportional share is asked for, for which the kernel walks every page. Code
 * cannot hide a process from its own /proc, and cannot mount over it. */
#include "executor/warden/memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "executor/box/walls.h"
#include "executor/warden/box_processes.h"

struct memory_total {
    int proc;
    uint64_t (*of)(int proc, const char *pid);
    uint64_t bytes;
};

/* O_NOFOLLOW: names come from the box's /proc. */
static bool memory_read_file(int proc, const char *pid, const char *name,
                             char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "%.16s/%s", pid, name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, size - 1);
    close(fd);
    text[got < 0 ? 0 : got] = '\0';
    return got > 0;
}

static uint64_t resident(int proc, const char *pid)
{
    char text[128];
    if (!memory_read_file(proc, pid, "statm", text, sizeof(text)))
        return 0; /* it has just ended */
    const char *pages = strchr(text, ' ');
    return pages ? strtoull(pages, NULL, 10) * (unsigned int)getpagesize() : 0;
}

static uint64_t proportional(int proc, const char *pid)
{
    char text[2048];
    if (!memory_read_file(proc, pid, "smaps_rollup", text, sizeof(text)))
        return resident(proc, pid);
    const char *kib = strstr(text, "\nPss:");
    return kib ? strtoull(kib + 5, NULL, 10) << 10 : resident(proc, pid);
}

static bool memory_add_process(void *context, const char *pid)
{
    struct memory_total *total = context;
    total->bytes += total->of(total->proc, pid);
    return true;
}

static uint64_t sum(int proc, uint64_t (*of)(int proc, const char *pid))
{
    struct memory_total total = { .proc = proc, .of = of };
    box_processes_walk(proc, memory_add_process, &total);
    return total.bytes;
}

/* Files in a tmpfs are memory. */
static uint64_t files(int workspace)
{
    struct statfs status;
    if (fstatfs(workspace, &status) < 0)
        return 0;
    return (uint64_t)(status.f_blocks - status.f_bfree) *
           (uint64_t)status.f_bsize;
}

/* A total within limit_bytes may be too high, as shared pages count several
 * times: to know better takes longer, and nobody needs to know. */
static uint64_t look(int proc, int workspace, uint64_t limit_bytes)
{
    uint64_t total = files(workspace);
    if (proc < 0)
        return total;
    uint64_t at_most = total + sum(proc, resident);
    return at_most <= limit_bytes ? at_most : total + sum(proc, proportional);
}

uint64_t memory_taken(const struct box *box)
{
    return look(box_proc(box), box_workspace(box), UINT64_MAX);
}

void memory_begin(const struct box *box)
{
    if (cgroup_has_memory(box_cgroup(box)))
        cgroup_begin(box_cgroup(box));
}

bool memory_exceeded(const struct box *box, uint64_t limit_bytes,
                     uint64_t *taken_bytes)
{
    if (cgroup_has_memory(box_cgroup(box))) {
        *taken_bytes = memory_peak_bytes(box);
        return memory_kills(box) > 0;
    }
    *taken_bytes = look(box_proc(box), box_workspace(box), limit_bytes);
    return *taken_bytes > limit_bytes && wall_wanted("watchdog");
}

uint64_t memory_peak_bytes(const struct box *box)
{
    const struct cgroup *cgroup = box_cgroup(box);
    return cgroup_has_memory(cgroup) ? cgroup_peak_bytes(cgroup) : 0;
}

uint64_t memory_kills(const struct box *box)
{
    const struct cgroup *cgroup = box_cgroup(box);
    return cgroup_has_memory(cgroup) ? cgroup_kills(cgroup) : 0;
}

uint64_t memory_of(const struct box *box, pid_t pid)
{
    char name[16];
    snprintf(name, sizeof(name), "%d", (int)pid);
    return box_proc(box) < 0 ? 0 : resident(box_proc(box), name);
}
