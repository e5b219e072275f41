/* socket.h - the unix socket that consumers connect to, and the user that the
 * warden runs as. */
#ifndef EXECUTOR_WARDEN_SOCKET_H
#define EXECUTOR_WARDEN_SOCKET_H

#include <sys/types.h>

#include "executor/warden/settings.h"

struct user_ids {
    uid_t uid;
    gid_t gid;
};

/* Whom we are to become: root, the user of the settings; others stay who they
 * are. False: there is no such user, or it is root. */
bool user_find(const struct executor_settings *settings, struct user_ids *ids,
               struct err *err);
/* Root becomes that user, others give up the capabilities that they have; for
 * good. */
bool user_drop(struct user_ids ids, struct err *err);

/* Our user may start that program; else err names the folder that keeps it out.
 * Asked after user_drop(): root may go anywhere. */
bool user_can_run(const char *path, struct err *err);

/* Makes the folder if need be, replaces a socket that nobody answers, binds
 * and listens, gives it to the user and group of the settings. -1 with err. */
int socket_bind(const struct executor_settings *settings, struct user_ids ids,
                struct err *err);

/* Tells systemd, where there is one: "READY=1", "STOPPING=1", "WATCHDOG=1". */
void notify(const char *state);

/* How often "WATCHDOG=1" has to be sent, in ms; 0: systemd does not wait for
 * it. */
uint64_t notify_watchdog_ms(void);

#endif
