/* byte_range.h - the header Range, of one range of bytes (RFC 9110, 14). */
#ifndef PRODUCER_GATEWAY_BYTE_RANGE_H
#define PRODUCER_GATEWAY_BYTE_RANGE_H

#include <stdint.h>

#include "schemas/message/view.h"

enum byte_range_kind {
    BYTE_RANGE_ALL,  /* there is none, or one that may be passed over */
    BYTE_RANGE_PART, /* first to last, both within the file */
    BYTE_RANGE_NONE, /* it lies outside: 416 */
};

struct byte_range {
    uint64_t first, last;
};

/* value: of the header, "" for none. size: of the file. Several ranges, other
 * units and malformed ranges are passed over, as the RFC allows. */
enum byte_range_kind byte_range_read(struct view value, uint64_t size,
                                     struct byte_range *range);

#endif
