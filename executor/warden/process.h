/* process.h - works on a process by its pidfd. A number could meanwhile belong
 * to another process; a pidfd never does. */
#ifndef EXECUTOR_WARDEN_PROCESS_H
#define EXECUTOR_WARDEN_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Its pid as its box sees it. 0: it is no pidfd of a process in a box; a guest
 * may send any descriptor that it has. */
pid_t process_pid(int pidfd);

/* When a box, or the machine, has no memory left, the kernel kills processes
 * that are not spared, and what they have started, before any other. */
void process_spare(int pidfd, bool spare);

#endif
