/* process.c - what can be done with a process that one has a pidfd of. */
#include "executor/warden/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/warden/place.h"
#include "executor/warden/wire.h"
#include "schemas/message/buf.h"

/* "NSpid: 4711 5": we see 4711, its box sees 5. */
static int read_pids(int pidfd, int *outside, int *inside)
{
    char path[48], line[128];
    int more, count = 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    FILE *file = fopen(path, "re");
    while (file && count < 1 && fgets(line, sizeof(line), file))
        count = sscanf(line, "NSpid: %d %d %d", outside, inside, &more);
    if (file)
        fclose(file);
    return count;
}

pid_t process_pid(int pidfd)
{
    int outside, inside;
    return read_pids(pidfd, &outside, &inside) == 2 && inside > 1 ? inside : 0;
}

/* Ended processes lose their number: what we have opened is of this one if it
 * lives after that. */
void process_spare(int pidfd, bool spare)
{
    char path[32];
    int outside, inside;
    if (read_pids(pidfd, &outside, &inside) < 1)
        return;
    snprintf(path, sizeof(path), "/proc/%d", outside);
    CLEANUP(close_fd) int folder = open(path, O_PATH | O_CLOEXEC);
    if (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0)
        (void)place_write(folder, "oom_score_adj", spare ? "0" : "1000");
}
