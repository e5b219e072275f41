/* server.h - consumers' connections: frames in, frames out.
 *
 * A connection that sends something else than frames is told so and closed;
 * nothing else is disturbed. Requests that wait for their session are bounded
 * in bytes: beyond, the connection is not read. */
#ifndef EXECUTOR_WARDEN_SERVER_H
#define EXECUTOR_WARDEN_SERVER_H

#include "executor/warden/sessions.h"

struct server;

/* Takes a bound unix socket. welcome: the answer to every hello; what it
 * borrows must last. */
struct server *server_new(struct sessions *sessions, int listener,
                          const struct frame *welcome, struct err *err);
/* Stops listening and closes every connection. */
void server_free(struct server *server);

#endif
