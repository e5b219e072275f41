/* rlimit.c - the limits that the kernel keeps for every process.
 *
 * Children inherit them, and nobody in the box may raise a hard limit. Where a
 * box has no cgroup they are, with the watchdog, all that bounds memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "executor/box/walls.h"

enum {
    MAX_OPEN_FILES = 512,  /* sockets and pipes hold kernel memory */
    STACK_BYTES = 8 << 20, /* each thread reserves as much */
    /* A signal that is queued is kernel memory, and the kernel counts those of
     * all boxes for the warden's user as well. */
    PENDING_SIGNALS = 128,
    CPU_SECONDS = 24 * 3600,      /* a session's whole life */
    WITHOUT_PROC_BYTES = 1 << 30, /* what own_bytes() takes for granted */
    /* Where the warden names none. */
    DEFAULT_PROCESSES = 64,
    DEFAULT_DISK_BYTES = 256 << 20,
};
static const rlim_t DEFAULT_MEMORY_BYTES = (rlim_t)2 << 30;

static rlim_t rlimit_choose(uint64_t wanted, rlim_t otherwise)
{
    return wanted ? (rlim_t)wanted : otherwise;
}

/* RLIMIT_AS counts address space. What the interpreter has mapped before its
 * first cell (libraries, most of it shared with other sessions) is not the
 * session's to pay for. */
static rlim_t own_bytes(void)
{
    char text[64] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return WITHOUT_PROC_BYTES;
    unsigned long long pages = 0;
    if (fgets(text, sizeof(text), file))
        pages = strtoull(text, NULL, 10);
    fclose(file);
    return (rlim_t)pages * (rlim_t)getpagesize();
}

/* gVisor refuses to set those that it does not have. Linux lowers any. */
static bool is_unknown_to_gvisor(__rlimit_resource_t resource)
{
    return errno == EPERM &&
           (resource == RLIMIT_SIGPENDING || resource == RLIMIT_MSGQUEUE);
}

/* A hard limit that is lower already stays: raising it takes a capability. */
static bool set_limit(__rlimit_resource_t resource, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return false;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > value)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0 || is_unknown_to_gvisor(resource);
}

bool rlimits_set(const struct session_limits *limits, struct err *err)
{
    const struct {
        __rlimit_resource_t resource;
        rlim_t value;
        const char *name;
    } rows[] = {
        { RLIMIT_AS,
          own_bytes() +
              rlimit_choose(limits->memory_bytes, DEFAULT_MEMORY_BYTES),
          "memory" },
        { RLIMIT_NPROC, rlimit_choose(limits->processes, DEFAULT_PROCESSES),
          "processes" },
        { RLIMIT_FSIZE, rlimit_choose(limits->disk_bytes, DEFAULT_DISK_BYTES),
          "file size" },
        { RLIMIT_NOFILE, MAX_OPEN_FILES, "open files" },
        { RLIMIT_STACK, STACK_BYTES, "stack" },
        { RLIMIT_CPU, CPU_SECONDS, "cpu" },
        /* 1, not 0: it also keeps away programs that the kernel would start
         * outside to take the core (core(5), "Piping core dumps"). */
        { RLIMIT_CORE, 1, "core" },
        { RLIMIT_SIGPENDING, PENDING_SIGNALS, "pending signals" },
        { RLIMIT_MSGQUEUE, 0, "message queues" },
        { RLIMIT_MEMLOCK, 0, "locked memory" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!set_limit(rows[i].resource, rows[i].value))
            return err_set(err, ERR_RETRY, "session_failed",
                           "limit of %s to %llu: %s", rows[i].name,
                           (unsigned long long)rows[i].value, strerror(errno));
    return true;
}
