/* process.c - what can be learned of, and done with, a process by its pidfd. */
#include "executor/warden/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/warden/cgroup_folder.h"
#include "schemas/message/buf.h"

/* "NSpid: 4711 5": we see 4711, its box sees 5. Gives how many there are. */
static size_t read_pids(int pidfd, pid_t pids[2])
{
    char path[48], line[128];
    const char *rest = NULL;
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    FILE *file = fopen(path, "re");
    while (file && !rest && fgets(line, sizeof(line), file))
        if (strncmp(line, "NSpid:", 6) == 0)
            rest = line + 6;
    if (file)
        fclose(file);
    while (rest) {
        char *end;
        long pid = strtol(rest, &end, 10);
        if (end == rest)
            break;
        if (count < 2)
            pids[count] = (pid_t)pid;
        rest = end;
        count++;
    }
    return count;
}

/* Two numbers: ours, and that of one namespace below. A process of the host has
 * one, init of a box is 1 in it. */
pid_t process_pid(int pidfd)
{
    pid_t pids[2];
    return read_pids(pidfd, pids) == 2 && pids[1] > 1 ? pids[1] : 0;
}

/* By pid, and a number may be given to another process. But if this one is
 * still alive after its folder of /proc was opened, the folder is its own. */
void process_spare(int pidfd, bool spare)
{
    char path[32];
    pid_t pids[2];
    if (read_pids(pidfd, pids) == 0)
        return;
    snprintf(path, sizeof(path), "/proc/%d", (int)pids[0]);
    CLEANUP(close_fd) int folder = open(path, O_PATH | O_CLOEXEC);
    if (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0)
        (void)cgroup_folder_write(folder, "oom_score_adj",
                                  spare ? "0" : "1000");
}
