/* guard.h - what holds while the code of a cell runs, and only then. SIGINT is
 * also listened to while functions run that cells have registered for a fork.
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

void guard_enter(void);   /* all three; the code starts */
void guard_listen(void);  /* SIGINT only */
void guard_release(void); /* gives back the reserve, to tell of the end */
void guard_leave(void);   /* ends all of it; harmless when none of it holds */

#endif
