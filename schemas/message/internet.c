/* internet.c - which addresses are on the public internet.
 *
 * After the registries of special-purpose addresses (RFC 6890, IANA). */
#include "schemas/message/internet.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

struct address_block {
    uint8_t bytes[16];
    unsigned int bits;
};

static const struct address_block special4[] = {
    { { 0 }, 8 },                 /* this network */
    { { 10 }, 8 },                /* private */
    { { 100, 64 }, 10 },          /* carriers' NAT; some clouds' metadata */
    { { 127 }, 8 },               /* loopback */
    { { 169, 254 }, 16 },         /* link-local; metadata */
    { { 172, 16 }, 12 },          /* private */
    { { 192, 0, 0 }, 24 },        /* protocol assignments; metadata */
    { { 192, 0, 2 }, 24 },        /* documentation */
    { { 192, 31, 196 }, 24 },     /* AS112 */
    { { 192, 52, 193 }, 24 },     /* AMT */
    { { 192, 88, 99 }, 24 },      /* 6to4 relays */
    { { 192, 168 }, 16 },         /* private */
    { { 192, 175, 48 }, 24 },     /* AS112 */
    { { 198, 18 }, 15 },          /* benchmarks */
    { { 198, 51, 100 }, 24 },     /* documentation */
    { { 203, 0, 113 }, 24 },      /* documentation */
    { { 168, 63, 129, 16 }, 32 }, /* public by its number, metadata of Azure */
    { { 224 }, 4 },               /* multicast */
    { { 240 }, 4 },               /* reserved, broadcast */
};

/* Only 2000::/3 is given out; these parts of it are special. */
static const struct address_block given_out = { { 0x20 }, 3 };
static const struct address_block special6[] = {
    { { 0x20, 0x01, 0x00 }, 23 },       /* Teredo, ORCHID, benchmarks... */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
    { { 0x20, 0x02 }, 16 },             /* 6to4: wraps an IPv4 address */
    { { 0x26, 0x20, 0x00, 0x4f, 0x80, 0x00 }, 48 }, /* AS112 */
    { { 0x3f, 0xff, 0x00 }, 20 },                   /* documentation */
};

/* The last 32 bits are an IPv4 address. */
static const struct address_block wrapping[] = {
    { { [10] = 0xff, [11] = 0xff }, 96 }, /* ::ffff:0:0, mapped */
    { { 0x00, 0x64, 0xff, 0x9b }, 96 },   /* 64:ff9b::, NAT64 */
};

static bool is_in(const uint8_t *bytes, const struct address_block *block)
{
    size_t whole = block->bits / 8;
    unsigned int rest = block->bits % 8;
    if (memcmp(bytes, block->bytes, whole) != 0)
        return false;
    return rest == 0 || (bytes[whole] ^ block->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_in_any(const uint8_t *bytes, const struct address_block *blocks,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(bytes, &blocks[i]))
            return true;
    return false;
}
#define IS_IN_ANY(bytes, blocks)                                               \
    is_in_any(bytes, blocks, sizeof(blocks) / sizeof((blocks)[0]))

static bool internet_has4(const uint8_t bytes[4])
{
    return !IS_IN_ANY(bytes, special4);
}

bool internet_has6(const uint8_t bytes[16])
{
    if (IS_IN_ANY(bytes, wrapping))
        return internet_has4(bytes + 12);
    return is_in(bytes, &given_out) && !IS_IN_ANY(bytes, special6);
}

bool internet_has(const struct sockaddr *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    switch (address->sa_family) {
    case AF_INET:
        memcpy(&four, address, sizeof(four));
        return internet_has4((const uint8_t *)&four.sin_addr);
    case AF_INET6:
        memcpy(&six, address, sizeof(six));
        return internet_has6(six.sin6_addr.s6_addr);
    default:
        return false;
    }
}
