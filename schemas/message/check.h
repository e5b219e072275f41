/* check.h - bounds MessagePack bytes before msgpack-c sees them.
 *
 * msgpack-c believes the counts it reads: 5 hostile bytes make it ask for 8 GB.
 * This check walks the bytes once, without allocating, and accepts exactly one
 * whole value whose counts are covered by bytes that are really there.
 * Format: https://github.com/msgpack/msgpack/blob/master/spec.md */
#ifndef SCHEMAS_MESSAGE_CHECK_H
#define SCHEMAS_MESSAGE_CHECK_H

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum {
    CHECK_MAX_DEPTH = 24,     /* msgpack-c stops at 32 */
    CHECK_MAX_ITEMS = 200000, /* values in one message: 24 B each in memory */
};

/* One whole value, nothing after it, depth and items within bounds; map keys
 * are strings; no ext types. Error: bad_message, with the byte's offset. */
bool check_value(struct view bytes, struct err *err);

#endif
