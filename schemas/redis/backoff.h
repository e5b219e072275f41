/* backoff.h - how long to wait before the next try. */
#ifndef SCHEMAS_REDIS_BACKOFF_H
#define SCHEMAS_REDIS_BACKOFF_H

#include <stdint.h>

/* How many ms to wait after so many failures in a row (0: after the first): 50
 * ms, doubled each time up to 2 s, of which the second half is random, so that
 * a fleet does not come back all at once. */
uint64_t backoff_ms(unsigned int failures);

#endif
