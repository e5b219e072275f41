/* address.h - which addresses are on the public internet.
 *
 * Whatever a name resolves to, the proxy connects only to these: not to this
 * machine, its networks or its cloud's metadata, nor to an address that only
 * wraps one of these (IPv4 in IPv6, NAT64). The ranges are in
 * schemas/message/internet.h. */
#ifndef EXECUTOR_PROXY_ADDRESS_H
#define EXECUTOR_PROXY_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* AF_INET or AF_INET6; any other is not public. */
bool address_is_public(const struct sockaddr *address);

#endif
