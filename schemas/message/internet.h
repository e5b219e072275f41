/* internet.h - which addresses are on the public internet.
 *
 * Whatever a name resolves to, sessions and tools are let go nowhere else: not
 * to this machine, its networks, its cloud's metadata, nor to an address that
 * only wraps one of these (IPv4 in IPv6, NAT64). */
#ifndef SCHEMAS_MESSAGE_INTERNET_H
#define SCHEMAS_MESSAGE_INTERNET_H

#include <stdbool.h>
#include <stdint.h>

/* The bytes of an address, as they are sent. */
bool internet_has4(const uint8_t bytes[4]);
bool internet_has6(const uint8_t bytes[16]);

#endif
