/* api_key.c - the form of a key of quern-gateway. */
#include "producer/client/api_key.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { CHANCE = 30, CHECK = 6, BASE = 62 };

#define PREFIX "qk_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz";

/* CRC-32 of IEEE 802.3, as zlib has it. */
static uint32_t crc32_of(const char *text, size_t len)
{
    uint32_t crc = ~UINT32_C(0);

    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

/* The highest digit first. */
static void write_check(char *key)
{
    uint32_t crc = crc32_of(key, PREFIX_LEN + CHANCE);

    for (size_t i = CHECK; i > 0; i--, crc /= BASE)
        key[PREFIX_LEN + CHANCE + i - 1] = digits[crc % BASE];
}

/* No digit is likelier than another: bytes beyond a multiple of 62 are thrown
 * away. */
static char random_digit(void)
{
    unsigned char byte;

    do
        if (getrandom(&byte, 1, 0) != 1)
            abort();
    while (byte >= 256 / BASE * BASE);
    return digits[byte % BASE];
}

void api_key_make(char key[API_KEY_BYTES])
{
    memcpy(key, PREFIX, PREFIX_LEN);
    for (size_t i = 0; i < CHANCE; i++)
        key[PREFIX_LEN + i] = random_digit();
    write_check(key);
    key[API_KEY_BYTES - 1] = '\0';
}

bool api_key_is_sound(struct view key)
{
    char wanted[API_KEY_BYTES];

    if (key.len != API_KEY_BYTES - 1 || !view_starts(key, PREFIX))
        return false;
    for (size_t i = PREFIX_LEN; i < key.len; i++)
        if (!memchr(digits, key.data[i], BASE))
            return false;
    memcpy(wanted, key.data, key.len);
    write_check(wanted);
    return memcmp(wanted, key.data, key.len) == 0;
}

struct key api_key_channel(const struct names *names)
{
    return names_of_fleet(names, "keys_removed");
}
