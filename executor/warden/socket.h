/* socket.h - the unix socket that consumers connect to, and the user that the
 * warden runs as. */
#ifndef EXECUTOR_WARDEN_SOCKET_H
#define EXECUTOR_WARDEN_SOCKET_H

#include "executor/warden/settings.h"

/* Makes the folder if need be, replaces a socket that nobody answers, binds
 * and listens, gives it to the user and group of the settings. -1 with err. */
int socket_bind(const struct settings *settings, struct err *err);

/* Root becomes the user of the settings, for good; others stay who they are. */
bool user_drop(const struct settings *settings, struct err *err);

/* Tells systemd, where there is one: "READY=1", "STOPPING=1". */
void notify(const char *state);

#endif
