/* guard.h - what holds while the code of a cell runs, and only then; SIGINT
 * also while what a cell has registered for it runs at a fork.
 *
 *   SIGINT     gives KeyboardInterrupt; between cells it is ignored
 *   reserve    address space kept back, so that an exhausted session can
 *              still say MemoryError
 *   streams    descriptors 0, 1 and 2 are the session's, whatever the cell
 *              before did to them */
#ifndef EXECUTOR_GUEST_GUARD_H
#define EXECUTOR_GUEST_GUARD_H

#include <stdbool.h>

/* Once per session, which begins with SIGINT ignored. */
bool guard_init(void);

void guard_enter(void);
void guard_listen(void);  /* to SIGINT, and nothing else */
void guard_release(void); /* the reserve, to tell how the cell ended */
void guard_leave(void);   /* all; harmless when it is not up */

#endif
