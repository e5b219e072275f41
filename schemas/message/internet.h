/* internet.h - which addresses are on the public internet.
 *
 * Sessions and tools may connect to no other address, whatever a name resolves
 * to: not to this machine, its networks or its cloud's metadata, nor to an
 * address that only wraps one of these (IPv4 in IPv6, NAT64). The check is of
 * the address that is connected to, never of a name. */
#ifndef SCHEMAS_MESSAGE_INTERNET_H
#define SCHEMAS_MESSAGE_INTERNET_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

/* Whether the address is public: of AF_INET or AF_INET6; any other is not. */
bool internet_has(const struct sockaddr *address);
/* bytes: of the address, in network order. */
bool internet_has6(const uint8_t bytes[16]);

#endif
