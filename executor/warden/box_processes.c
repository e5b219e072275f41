/* box_processes.c - which processes are in a box, as its own /proc says. */
#include "executor/warden/box_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct pid_list {
    const pid_t *pids;
    size_t count;
};

bool box_processes_walk(int proc, bool (*see)(void *context, const char *pid),
                        void *context)
{
    int fd =
        proc < 0 ? -1 : openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    bool on = folder != NULL;
    if (!folder && fd >= 0)
        close(fd);
    for (struct dirent *entry; on && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            on = see(context, entry->d_name);
    if (folder)
        closedir(folder);
    return on;
}

static bool box_process_is_kept(void *context, const char *pid)
{
    const struct pid_list *kept = context;
    long number = strtol(pid, NULL, 10);
    bool found = number == 1;
    for (size_t i = 0; i < kept->count; i++)
        found = found || number == kept->pids[i];
    return found;
}

bool box_processes_is_only(int proc, const pid_t *kept, size_t count)
{
    return box_processes_walk(proc, box_process_is_kept,
                              &(struct pid_list){ kept, count });
}
