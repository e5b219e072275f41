/* replay_program.h - where quern-replay is, which judges recordings. It comes
 * with the consumer, whose room knows what a conversation is. */
#ifndef PRODUCER_CLIENT_REPLAY_PROGRAM_H
#define PRODUCER_CLIENT_REPLAY_PROGRAM_H

#include <limits.h>

/* Its path beside this program; else its name, to be looked for in PATH. */
void replay_program_find(char path[PATH_MAX]);

#endif
