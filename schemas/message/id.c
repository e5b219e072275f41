/* id.c - job ids: a UUIDv7 that carries its partition. */
#include "schemas/message/id.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/view.h"

enum { SHA256_DIGITS = 64 };

struct id id_make(uint64_t now_ms, unsigned int partition,
                  const unsigned char random[8])
{
    struct id id;
    uint64_t tail;

    assert(now_ms < UINT64_C(1) << 48);
    assert(partition <= ID_MAX_PARTITION);
    memcpy(&tail, random, sizeof(tail));
    tail = (tail & UINT64_MAX >> 2) | UINT64_C(1) << 63; /* variant 10 */
    snprintf(id.text, sizeof(id.text),
             "%08" PRIx64 "-%04" PRIx64 "-7%03x-%04" PRIx64 "-%012" PRIx64,
             now_ms >> 16, now_ms & 0xffff, partition, tail >> 48,
             tail & UINT64_C(0xffffffffffff));
    return id;
}

/* The value of a lower-case hexadecimal digit, or -1. */
static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool id_parse(struct view text, unsigned int *partition)
{
    static const char shape[] = "xxxxxxxx-xxxx-7xxx-yxxx-xxxxxxxxxxxx";
    unsigned int rand_a = 0;

    if (text.len != ID_LEN)
        return false;
    for (size_t i = 0; i < ID_LEN; i++) {
        int digit = digit_value(text.data[i]);

        if (shape[i] == 'x'   ? digit < 0
            : shape[i] == 'y' ? digit < 8 || digit > 11
                              : text.data[i] != shape[i])
            return false;
        if (i >= 15 && i < 18)
            rand_a = rand_a << 4 | (unsigned int)digit;
    }
    if (partition)
        *partition = rand_a;
    return true;
}

bool id_is_sha256(struct view text)
{
    if (text.len != SHA256_DIGITS)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (digit_value(text.data[i]) < 0)
            return false;
    }
    return true;
}
