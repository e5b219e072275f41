/* numbers.h - what the warden counts: one table of all metrics, as consumer/
 * has one. It has no network: a consumer of this host asks for them
 * (FRAME_NUMBERS) and shows them beside its own.
 *
 * Labels are the words of numbers.c. The self-test is not counted. */
#ifndef EXECUTOR_WARDEN_NUMBERS_H
#define EXECUTOR_WARDEN_NUMBERS_H

#include "schemas/metrics/metrics.h"

enum warden_number {
    NUMBER_SESSIONS,
    NUMBER_SESSION_START,
    NUMBER_CELLS,
    NUMBER_CELL_TIME,
    NUMBER_ROLLBACKS,
    NUMBER_WALLS,
    WARDEN_NUMBERS,
};
extern const struct metric warden_numbers[WARDEN_NUMBERS];

#endif
