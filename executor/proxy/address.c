/* address.c - which addresses are on the public internet. */
#include "executor/proxy/address.h"

#include <netinet/in.h>
#include <string.h>

#include "schemas/message/internet.h"

bool address_is_public(const struct sockaddr *address)
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
