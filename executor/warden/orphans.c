/* orphans.c - waits for children of the warden that no other part knows. */
#include "executor/warden/orphans.h"

#include <stdlib.h>
#include <sys/wait.h>

enum { LOOK_MS = 200, SELDOM_MS = 60000 }; /* between looks: least, most */

struct orphans {
    struct loop_alarm *alarm;
    uint64_t wait_ms; /* to the next look, longer each time */
    pid_t zombie;     /* that the last look saw */
};

/* WNOWAIT: a look takes nothing from a part that waits for its own child. */
static void on_look(void *owner)
{
    struct orphans *orphans = owner;
    siginfo_t info = { 0 };
    waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid > 0) {
        if (info.si_pid == orphans->zombie)
            waitpid(info.si_pid, NULL, WNOHANG);
        orphans->wait_ms = LOOK_MS;
    }
    orphans->zombie = info.si_pid;
    alarm_set(orphans->alarm, orphans->wait_ms);
    orphans->wait_ms *= 2;
    if (orphans->wait_ms > SELDOM_MS)
        orphans->wait_ms = SELDOM_MS;
}

struct orphans *orphans_new(uv_loop_t *loop)
{
    struct orphans *orphans = allocate(sizeof(*orphans));
    orphans->alarm = alarm_new(loop, on_look, orphans);
    return orphans;
}

void orphans_free(struct orphans *orphans)
{
    alarm_free(orphans->alarm);
    free(orphans);
}

void orphans_look(struct orphans *orphans)
{
    orphans->wait_ms = LOOK_MS;
    alarm_set(orphans->alarm, LOOK_MS);
}
