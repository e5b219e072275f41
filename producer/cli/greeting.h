/* greeting.h - greets an executor, as a consumer does: its welcome says which
 * walls it has. Until it serves (its self-test comes first) it does not answer.
 */
#ifndef PRODUCER_CLI_GREETING_H
#define PRODUCER_CLI_GREETING_H

#include <stdint.h>

#include "schemas/message/frame.h"

enum { GREETING_BYTES = 8192 }; /* of a welcome, at most */

/* The socket at which consumers of this host look for it, too. */
const char *greeting_socket(void);

/* bytes: room for GREETING_BYTES, of which the welcome is made; it and the
 * arena live as long as the welcome. False: none answers within timeout_ms;
 * *fault: errno of the connection, 0 when there was one. */
bool greeting_exchange(const char *path, uint64_t timeout_ms,
                       struct frame *welcome, char *bytes, struct arena *arena,
                       int *fault);

#endif
