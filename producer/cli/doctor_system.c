/* doctor_system.c - what the system of this host gives to the programs: room on
 * disks, open files, time to stop. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"
#include "schemas/settings/amount.h"

enum {
    FEW_FILES = 4096, /* open ones: a consumer takes fewer jobs then */
    USED_PERCENT = 85,
    LEFT_PERCENT = 5,
    LEFT_BYTES = 100 << 20,
    NONE_BYTES = 1 << 20,
};

/* --- disks ---------------------------------------------------------------- */

bool doctor_find_full(struct doctor *doctor, const char *path,
                      const char *whose)
{
    struct statvfs disk;

    if (statvfs(path, &disk) != 0)
        return false;
    uint64_t all = (uint64_t)disk.f_blocks * disk.f_frsize;
    uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
    bool none = left < NONE_BYTES || (disk.f_files > 0 && disk.f_favail == 0);
    bool few = left < LEFT_BYTES || left * 100 < all * LEFT_PERCENT;

    if (all > 0 && (none || few))
        find(doctor, none ? FAULT : WARNING, "disk",
             "make room, or move the folder to a larger disk",
             "%s, of %s: %s of %s left%s", path, whose, term_size(left),
             term_size(all),
             disk.f_files > 0 && disk.f_favail == 0 ? ", no more files" : "");
    else
        find(doctor, FINE, "disk", NULL, "%s, of %s: %s left", path, whose,
             term_size(left));
    return true;
}

static bool is_same_disk(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev;
}

/* Where quern-executor keeps packages, and what cells write without a box. */
void check_disk(struct doctor *doctor)
{
    CLEANUP(cleanup_free)
    char *given = doctor_setting("executor.conf", "QUERN_PACKAGES_STORE");
    const char *store = given ? given : getenv("QUERN_PACKAGES_STORE");
    const char *temporary = getenv("TMPDIR");
    const char *folders[] = { store && *store ? store : "/var/cache/quern",
                              temporary && *temporary ? temporary : "/tmp",
                              "/var/tmp" };

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        bool told = false;

        for (size_t k = 0; k < i; k++)
            told = told || is_same_disk(folders[k], folders[i]);
        if (!told)
            doctor_find_full(doctor, folders[i], "quern-executor");
    }
}

/* --- open files ----------------------------------------------------------- */

/* A file below /proc, as text; "": it is closed to this user, or gone. */
static void read_proc(const char *pid, const char *name, char *text,
                      size_t size)
{
    char path[64];
    size_t len = 0;

    snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, name);
    FILE *file = fopen(path, "re");
    if (file) {
        len = fread(text, 1, size - 1, file);
        fclose(file);
    }
    text[len] = '\0';
}

/* 0: closed to this user. */
static uint64_t count_files(const char *pid)
{
    char path[64];
    uint64_t count = 0;

    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static bool is_service(const char *name)
{
    static const char *const all[] = { "quern-consumer", "quern-executor",
                                       "quern-gateway", "quern-deliverer" };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(name, all[i]) == 0)
            return true;
    return false;
}

/* Returns whether its limit is good. */
static bool check_process(struct doctor *doctor, const char *pid,
                          const char *name)
{
    static const char key[] = "Max open files";
    char text[4096];
    const char *line;

    read_proc(pid, "limits", text, sizeof(text));
    line = strstr(text, key);
    if (!line)
        return true;
    line += strlen(key) + strspn(line + strlen(key), " ");
    uint64_t most =
        isdigit((unsigned char)*line) ? strtoull(line, NULL, 10) : UINT64_MAX;
    uint64_t used = count_files(pid);
    bool is_near = used > most / 100 * USED_PERCENT;

    if (most < FEW_FILES || is_near)
        find(doctor, WARNING, "limits",
             "LimitNOFILE=65536 in its unit, or ulimit -n, then restart it",
             "%s (process %s) may open %" PRIu64 " files%s", name, pid, most,
             is_near ? ", and nearly all are open" : "");
    return most >= FEW_FILES && !is_near;
}

void check_limits(struct doctor *doctor)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0, good = 0;

    while (proc && (entry = readdir(proc))) {
        char name[32];

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        read_proc(entry->d_name, "comm", name, sizeof(name));
        name[strcspn(name, "\n")] = '\0';
        if (!is_service(name))
            continue;
        count++;
        good += check_process(doctor, entry->d_name, name);
    }
    if (proc)
        closedir(proc);
    if (count > 0 && good == count)
        find(doctor, FINE, "limits", NULL,
             "%zu process%s of quern may open enough files", count,
             count == 1 ? "" : "es");
}

/* --- systemd -------------------------------------------------------------- */

/* "1min 30s", "40s", "infinity", as systemctl writes it. */
static uint64_t span_ms(const char *text)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = { { "us", 0 },       { "ms", 1 },      { "min", 60000 },
                  { "s", 1000 },     { "h", 3600000 }, { "d", 86400000 },
                  { "w", 604800000 } };
    uint64_t all = 0;

    if (strncmp(text, "infinity", strlen("infinity")) == 0)
        return UINT64_MAX;
    while (isdigit((unsigned char)*text)) {
        char *end;
        uint64_t number = strtoull(text, &end, 10);
        size_t i = 0, count = sizeof(units) / sizeof(units[0]);

        while (i < count &&
               strncmp(end, units[i].unit, strlen(units[i].unit)) != 0)
            i++;
        all += i < count ? number * units[i].ms : 0;
        text = end + strspn(end, "abcdefghijklmnopqrstuvwxyz ");
    }
    return all;
}

/* How long systemd waits for a consumer of this host to stop; false: it does
 * not know the unit, or is not here. */
static bool read_grace(uint64_t *ms)
{
    CLEANUP(close_fd) int fd = memfd_create("grace", MFD_CLOEXEC);
    char program[] = "systemctl", show[] = "show", unit[] = "quern-consumer@1";
    char property[] = "--property=LoadState,TimeoutStopUSec";
    char *const argv[] = { program, show, property, unit, NULL };
    char text[512];
    const char *grace;

    if (doctor_spawn(argv, fd) != 0)
        return false;
    doctor_read_end(fd, text, sizeof(text));
    grace = strstr(text, "TimeoutStopUSec=");
    if (!grace || !strstr(text, "LoadState=loaded"))
        return false;
    *ms = span_ms(grace + strlen("TimeoutStopUSec="));
    return true;
}

/* A line of list-units: name, load, active, sub, description. */
static void find_service(struct doctor *doctor, char *line)
{
    char remedy[QUERN_NAME + 64], *rest = NULL;
    const char *name = strtok_r(line, " ", &rest);
    bool has_failed = rest && strstr(rest, " failed ");

    if (!name || strncmp(name, "quern-", 6) != 0)
        return;
    snprintf(remedy, sizeof(remedy), "systemctl status %.100s says why", name);
    find(doctor, WARNING, "services", remedy,
         has_failed ? "%.100s has failed, and is not started again"
                    : "%.100s ends again and again, and is restarted",
         name);
}

/* Of this host, whatever the fleet does. */
void check_services(struct doctor *doctor)
{
    CLEANUP(close_fd) int fd = memfd_create("services", MFD_CLOEXEC);
    char program[] = "systemctl", list[] = "list-units", plain[] = "--plain";
    char no_legend[] = "--no-legend", pattern[] = "quern-*";
    char state[] = "--state=failed,auto-restart";
    char *const argv[] = {
        program, list, plain, no_legend, state, pattern, NULL
    };
    char text[8192], *rest = text, *line;

    if (doctor_spawn(argv, fd) != 0)
        return;
    doctor_read_end(fd, text, sizeof(text));
    while ((line = strsep(&rest, "\n")))
        find_service(doctor, line);
}

void check_unit(struct doctor *doctor)
{
    static const struct amount_range range = { AMOUNT_TIME, 0, 0 };
    CLEANUP(cleanup_free)
    char *given = doctor_setting("consumer.conf", "QUERN_DRAIN");
    uint64_t drain_ms = 25000, grace_ms;
    struct err err;

    if (!read_grace(&grace_ms) ||
        (given && !amount_read(&drain_ms, &range, given, &err)))
        return;
    if (grace_ms <= drain_ms)
        find(doctor, WARNING, "units",
             "systemctl edit quern-consumer@: TimeoutStopSec= of some seconds "
             "more than QUERN_DRAIN",
             "systemd kills a consumer %s after TERM, and it drains for %s: "
             "its jobs are not handed back",
             term_time(grace_ms), term_time(drain_ms));
    else
        find(doctor, FINE, "units", NULL,
             "systemd waits %s for a consumer that drains for %s",
             grace_ms == UINT64_MAX ? "without end" : term_time(grace_ms),
             term_time(drain_ms));
}
