/* resp.h - bytes that a Redis server might answer. */
#ifndef TESTS_FUZZ_RESP_H
#define TESTS_FUZZ_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* hiredis asks at once for the memory of as many elements as are announced:
 * more of them than there are bytes are its affair, not ours. */
static inline bool resp_is_modest(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        size_t count = 0;

        if (!data[i] || !strchr("*%~>|", data[i]))
            continue;
        while (i + 1 < size && data[i + 1] >= '0' && data[i + 1] <= '9' &&
               count <= size)
            count = count * 10 + (size_t)(data[++i] - '0');
        if (count > size)
            return false;
    }
    return true;
}

#endif
