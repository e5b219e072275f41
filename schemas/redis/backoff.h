/* backoff.h - how long to wait before the next try. */
#ifndef SCHEMAS_REDIS_BACKOFF_H
#define SCHEMAS_REDIS_BACKOFF_H

#include <stdint.h>

/* 50 ms, doubled with each failure in a row, to 2 s; of that a random half, so
 * that a fleet does not come back all at once. */
uint64_t backoff_ms(unsigned int failures);

#endif
