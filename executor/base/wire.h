/* wire.h - bytes and descriptors over unix sockets.
 *
 * The other side may be hostile, and a message may carry more descriptors than
 * expected. None may leak: each one that arrives is given to the caller or
 * closed. */
#ifndef EXECUTOR_BASE_WIRE_H
#define EXECUTOR_BASE_WIRE_H

#include <sys/types.h>

#include "schemas/message/view.h"

enum { WIRE_FDS = 16 };

/* As sendmsg() and recvmsg(); flags: MSG_DONTWAIT or 0. Descriptors that are
 * sent stay the caller's. Those that are received become the caller's, also
 * when the bytes make no sense, and are close-on-exec. *count: in, how many
 * there is room for, at most WIRE_FDS; out, how many came. More are closed, or
 * never taken. */
ssize_t wire_send(int fd, struct view bytes, const int *fds, size_t count,
                  int flags);
ssize_t wire_receive(int fd, void *bytes, size_t len, int *fds, size_t *count,
                     int flags);

/* Two connected sockets, close-on-exec. type: SOCK_STREAM, SOCK_SEQPACKET. */
bool wire_pair(int type, int pair[2]);

/* Closes it if it is one; for CLEANUP(). errno stays what it was. */
void close_fd(int *fd);
int take_fd(int *fd); /* its number; *fd is none any more */

#endif
