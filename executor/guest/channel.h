/* channel.h - frames over a socket, with descriptors that ride along.
 *
 * Used by the zygote and by every session. One thread reads at a time
 * (inbox.h), and Python's lock keeps the writers in order, so reading and
 * writing simply wait. The peer is the warden, which is trusted. Cells of a
 * session may write nonsense into their channel: that harms nobody but their
 * session. */
#ifndef EXECUTOR_GUEST_CHANNEL_H
#define EXECUTOR_GUEST_CHANNEL_H

#include "schemas/message/frame.h"

enum { CHANNEL_FD = 3 }; /* of the zygote, and of each session */

/* Descriptors that came with a frame; closed when the scope ends. */
struct frame_fds {
    int fds[FORK_FDS];
    size_t count;
};
void frame_fds_close(struct frame_fds *frame_fds);

/* The next frame; its views live as long as bytes and arena, and bytes may be
 * used again for the next one. False without an error: the peer has closed.
 * frame_fds may be NULL: none are taken. */
bool channel_read(int fd, struct guest_frame *frame, struct buf *bytes,
                  struct arena *arena, struct frame_fds *frame_fds,
                  struct err *err);

/* Writes all of it. sent_fd: a descriptor to send along, which stays the
 * caller's, or -1. False: err; the channel may have got a part of the frame. */
bool channel_write(int fd, const struct guest_frame *frame, int sent_fd,
                   struct err *err);

#endif
