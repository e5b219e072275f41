/* server.h - consumers' connections: frames in, frames out.
 *
 * A connection that sends something else than frames is told so and closed;
 * nothing else is disturbed. Requests that wait for their session are bounded
 * in bytes: beyond that, the connection is not read. Who may connect is decided
 * by the socket's owner and mode (socket.h). */
#ifndef EXECUTOR_WARDEN_SERVER_H
#define EXECUTOR_WARDEN_SERVER_H

#include "executor/warden/sessions.h"

struct server;

/* Takes a bound unix socket. welcome: the answer to every hello, copied; what
 * it borrows must stay as long as the server. NULL: err. */
struct server *server_new(struct sessions *sessions, int listener,
                          const struct frame *welcome, struct err *err);
/* Stops listening and closes every connection. Accepts NULL. */
void server_free(struct server *server);

#endif
