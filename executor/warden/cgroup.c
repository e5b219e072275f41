/* cgroup.c - what the kernel limits for a whole box. */
#include "executor/warden/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/base/loop.h"
#include "executor/base/wire.h"
#include "executor/warden/cgroup_folder.h"

/* Processes of a box beside those that its session may have: init, the
 * snapshot, the next one, and the passing process that forks it. */
enum { OWN_PROCESSES = 4 };

struct cgroups {
    struct cgroup_folder places[CGROUP_DOORS];
    size_t count;
    unsigned int controllers;
    uint64_t numbers;    /* of boxes so far: names of their cgroups */
    struct cgroup *left; /* of boxes that are gone; not removed yet */
    struct err missing;  /* why there is not more */
};

struct cgroup {
    struct cgroup *next;
    struct cgroups *all;
    char name[24];
    int peak;              /* a file; -1: this kernel has none */
    uint64_t kills_before; /* this cell */
};

/* What each version calls its files. A process with one thread enters by the
 * file of threads where there is one: by that of processes the kernel makes it
 * wait until every processor has been through the scheduler. */
static const struct file_names {
    const char *limit, *swap, *kills, *peak, *door;
    bool swap_is_sum; /* of memory and swap */
} names[] = {
    [1] = { "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
            "memory.oom_control", "memory.max_usage_in_bytes", "tasks", true },
    [2] = { "memory.max", "memory.swap.max", "memory.events", "memory.peak",
            "cgroup.procs", false },
};

/* -------------------------------------------------------------------- all */

static void take_places(struct cgroups *cgroups, FILE *cgroup, FILE *mountinfo,
                        uid_t uid, gid_t gid)
{
    struct hierarchy found[MAX_HIERARCHIES];
    size_t count = hierarchies_find(cgroup, mountinfo, found);
    for (size_t i = 0; i < count && cgroups->count < CGROUP_DOORS; i++) {
        struct cgroup_folder *place = &cgroups->places[cgroups->count];
        if (!cgroup_folder_take(place, &found[i], uid, gid, &cgroups->missing))
            continue;
        cgroups->controllers |= place->controllers;
        cgroups->count++;
    }
}

struct cgroups *cgroups_new(uid_t uid, gid_t gid)
{
    struct cgroups *cgroups = allocate(sizeof(*cgroups));
    FILE *cgroup = fopen("/proc/self/cgroup", "re");
    FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    if (cgroup && mountinfo)
        take_places(cgroups, cgroup, mountinfo, uid, gid);
    if (cgroups->controllers == (1U << CONTROLLERS) - 1)
        cgroups->missing.text[0] = '\0';
    else if (cgroups->missing.text[0] == '\0')
        err_set(&cgroups->missing, ERR_REJECT, "bad_setting",
                "no hierarchy of cgroups has it");
    if (cgroup)
        fclose(cgroup);
    if (mountinfo)
        fclose(mountinfo);
    return cgroups;
}

static bool remove_folders(const struct cgroup *cgroup)
{
    bool gone = true;
    for (size_t i = 0; i < cgroup->all->count; i++)
        gone &= unlinkat(cgroup->all->places[i].folder, cgroup->name,
                         AT_REMOVEDIR) == 0 ||
                errno == ENOENT;
    return gone;
}

/* The kernel removes a cgroup only when its last process is gone. */
static void remove_left(struct cgroups *cgroups)
{
    struct cgroup **link = &cgroups->left;
    while (*link) {
        struct cgroup *cgroup = *link;
        if (remove_folders(cgroup)) {
            *link = cgroup->next;
            free(cgroup);
        } else {
            link = &cgroup->next;
        }
    }
}

void cgroups_free(struct cgroups *cgroups)
{
    if (!cgroups)
        return;
    remove_left(cgroups);
    for (size_t i = 0; i < cgroups->count; i++)
        cgroup_folder_finish(&cgroups->places[i]);
    for (struct cgroup *cgroup = cgroups->left, *next; cgroup; cgroup = next) {
        next = cgroup->next;
        free(cgroup);
    }
    free(cgroups);
}

unsigned int cgroups_controllers(const struct cgroups *cgroups)
{
    return cgroups ? cgroups->controllers : 0;
}

static const struct cgroup_folder *
cgroup_folder_with(const struct cgroups *cgroups, enum controller controller)
{
    for (size_t i = 0; i < cgroups->count; i++)
        if (cgroups->places[i].controllers & 1U << controller)
            return &cgroups->places[i];
    return NULL;
}

int cgroups_version(const struct cgroups *cgroups)
{
    return cgroups && cgroups->count ? cgroups->places[0].version : 0;
}

const char *cgroups_missing(const struct cgroups *cgroups)
{
    return cgroups ? cgroups->missing.text : "--cgroup off";
}

/* -------------------------------------------------------------------- one */

static bool write_number(const struct cgroup *cgroup,
                         const struct cgroup_folder *place, const char *file,
                         uint64_t number)
{
    char name[64], text[24];
    snprintf(name, sizeof(name), "%s/%s", cgroup->name, file);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    return cgroup_folder_write(place->folder, name, text);
}

/* Swap is limited, too: or a box would take more than its
 * limit, on disk. */
static bool limit_memory(struct cgroup *cgroup, uint64_t bytes)
{
    const struct cgroup_folder *place =
        cgroup_folder_with(cgroup->all, CONTROLLER_MEMORY);
    if (!place)
        return true;
    const struct file_names *file = &names[place->version];
    return write_number(cgroup, place, file->limit, bytes) &&
           (write_number(cgroup, place, file->swap,
                         file->swap_is_sum ? bytes : 0) ||
            errno == ENOENT); /* a kernel that does not count swap */
}

static bool limit_processes(struct cgroup *cgroup, uint64_t processes)
{
    const struct cgroup_folder *place =
        cgroup_folder_with(cgroup->all, CONTROLLER_PIDS);
    return !place ||
           write_number(cgroup, place, "pids.max", processes + OWN_PROCESSES);
}

bool cgroup_limit(struct cgroup *cgroup, const struct session_limits *limits,
                  struct err *err)
{
    return !cgroup ||
           (limit_memory(cgroup, limits->memory_bytes) &&
            limit_processes(cgroup, limits->processes)) ||
           err_set(err, ERR_RETRY, "session_failed", "limits of its cgroup: %s",
                   strerror(errno));
}

/* If it can be opened for writing, it can be set back for each cell; else it
 * tells the most of the whole session. */
static int open_peak(const struct cgroup *cgroup)
{
    const struct cgroup_folder *place =
        cgroup_folder_with(cgroup->all, CONTROLLER_MEMORY);
    char name[64];
    if (!place)
        return -1;
    snprintf(name, sizeof(name), "%s/%s", cgroup->name,
             names[place->version].peak);
    int fd = openat(place->folder, name, O_RDWR | O_CLOEXEC);
    return fd >= 0 ? fd : openat(place->folder, name, O_RDONLY | O_CLOEXEC);
}

static bool make_folders(const struct cgroup *cgroup)
{
    for (size_t i = 0; i < cgroup->all->count; i++)
        if (mkdirat(cgroup->all->places[i].folder, cgroup->name, 0755) < 0)
            return false;
    return true;
}

struct cgroup *cgroup_new(struct cgroups *cgroups,
                          const struct session_limits *limits, struct err *err)
{
    err->kind = ERR_NONE;
    if (!cgroups || cgroups->count == 0)
        return NULL;
    remove_left(cgroups);
    struct cgroup *cgroup = allocate(sizeof(*cgroup));
    cgroup->all = cgroups;
    cgroup->peak = -1;
    snprintf(cgroup->name, sizeof(cgroup->name), "%llu",
             (unsigned long long)++cgroups->numbers);
    bool made =
        make_folders(cgroup) || err_set(err, ERR_RETRY, "session_failed",
                                        "cgroup: %s", strerror(errno));
    if (!made || !cgroup_limit(cgroup, limits, err)) {
        cgroup_free(cgroup);
        return NULL;
    }
    cgroup->peak = open_peak(cgroup);
    return cgroup;
}

/* A box that was never ready may take a moment to end. */
void cgroup_free(struct cgroup *cgroup)
{
    if (!cgroup)
        return;
    close_fd(&cgroup->peak);
    cgroup->next = cgroup->all->left;
    cgroup->all->left = cgroup;
    remove_left(cgroup->all);
}

static int open_door(const struct cgroup *cgroup, size_t number)
{
    char name[64];
    if (!cgroup || number >= cgroup->all->count)
        return open("/dev/null", O_WRONLY | O_CLOEXEC);
    const struct cgroup_folder *place = &cgroup->all->places[number];
    snprintf(name, sizeof(name), "%s/%s", cgroup->name,
             names[place->version].door);
    return openat(place->folder, name, O_WRONLY | O_CLOEXEC);
}

bool cgroup_doors(const struct cgroup *cgroup, int doors[CGROUP_DOORS])
{
    bool all = true;
    for (size_t i = 0; i < CGROUP_DOORS; i++) {
        doors[i] = open_door(cgroup, i);
        all = all && doors[i] >= 0;
    }
    for (size_t i = 0; !all && i < CGROUP_DOORS; i++)
        close_fd(&doors[i]);
    return all;
}

/* ----------------------------------------------------------------- memory */

bool cgroup_has_memory(const struct cgroup *cgroup)
{
    return cgroup && cgroup->all->controllers & 1U << CONTROLLER_MEMORY;
}

/* "oom_kill 3", a line among others. */
static uint64_t kills(const struct cgroup *cgroup)
{
    const struct cgroup_folder *place =
        cgroup_folder_with(cgroup->all, CONTROLLER_MEMORY);
    char name[64], text[512];
    snprintf(name, sizeof(name), "%s/%s", cgroup->name,
             names[place->version].kills);
    if (!cgroup_folder_read(place->folder, name, text, sizeof(text)))
        return 0;
    const char *line = strstr(text, "oom_kill ");
    return line ? strtoull(line + strlen("oom_kill "), NULL, 10) : 0;
}

void cgroup_begin(struct cgroup *cgroup)
{
    cgroup->kills_before = kills(cgroup);
    (void)!pwrite(cgroup->peak, "0", 1, 0);
}

uint64_t cgroup_kills(const struct cgroup *cgroup)
{
    return kills(cgroup) - cgroup->kills_before;
}

uint64_t cgroup_peak_bytes(const struct cgroup *cgroup)
{
    char text[32];
    ssize_t got = pread(cgroup->peak, text, sizeof(text) - 1, 0);
    text[got < 0 ? 0 : got] = '\0';
    return strtoull(text, NULL, 10);
}
