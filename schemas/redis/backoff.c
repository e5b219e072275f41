/* backoff.c - how long to wait before the next try. */
#include "schemas/redis/backoff.h"

#include <sys/random.h>
#include <time.h>

enum { FIRST_MS = 50, LAST_MS = 2000, DOUBLINGS = 6 };

/* A random number; the clock's nanoseconds where the system has none yet. It
 * only spreads tries, so it need not be hard to guess. */
static unsigned int chance(void)
{
    unsigned int random;
    struct timespec now;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) ==
        (ssize_t)sizeof(random))
        return random;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned int)now.tv_nsec;
}

uint64_t backoff_ms(unsigned int failures)
{
    uint64_t ms = LAST_MS;

    if (failures < DOUBLINGS)
        ms = (uint64_t)FIRST_MS << failures;
    if (ms > LAST_MS)
        ms = LAST_MS;
    return ms / 2 + chance() % (ms / 2 + 1);
}
