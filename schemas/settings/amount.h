/* amount.h - numbers with their units, as people write them.
 *
 *   time     500ms 30s 5m 2h 1d   milliseconds
 *   size     64K 512M 2G 1T 100B  bytes; K is 1024 of them
 *   dollars  2 0.05               micro-dollars
 *   count    64
 *
 * A time or a size without its unit is refused, but for 0: "30" means seconds
 * to one reader and milliseconds to another. */
#ifndef SCHEMAS_SETTINGS_AMOUNT_H
#define SCHEMAS_SETTINGS_AMOUNT_H

#include <stdint.h>

#include "schemas/message/err.h"

enum amount_kind { AMOUNT_COUNT, AMOUNT_TIME, AMOUNT_SIZE, AMOUNT_DOLLARS };

struct amount_range {
    enum amount_kind kind;
    uint64_t min, max; /* max 0: no limit */
};

/* Error: bad_setting. Its text goes on where a caller has named the setting and
 * the value: "must be a time from 300ms to 1h". */
bool amount_read(uint64_t *value, const struct amount_range *range,
                 const char *text, struct err *err);

/* The shortest way to write it: 30s, not 30000ms. */
enum { AMOUNT_BYTES = 32 };
void amount_write(char text[AMOUNT_BYTES], enum amount_kind kind,
                  uint64_t value);

/* "300ms to 1h", "at least 1"; "" where any will do. */
enum { AMOUNT_RANGE_BYTES = 2 * AMOUNT_BYTES + 16 };
void amount_write_range(char text[AMOUNT_RANGE_BYTES],
                        const struct amount_range *range);

#endif
