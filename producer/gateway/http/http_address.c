/* http_address.c - counts the connections of each address. */
#include "producer/gateway/http/http_address.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { BUCKETS = 1024, HOST_BYTES = 8 /* of v6: what follows the network */ };

struct http_addresses {
    struct http_address *buckets[BUCKETS];
};

bool http_address_text(const struct sockaddr_storage *peer,
                       char text[HTTP_ADDRESS_TEXT])
{
    struct sockaddr_storage copy = *peer;
    struct in6_addr *v6 = &((struct sockaddr_in6 *)&copy)->sin6_addr;

    if (copy.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(v6))
        memset(&v6->s6_addr[sizeof(v6->s6_addr) - HOST_BYTES], 0, HOST_BYTES);
    return uv_ip_name((struct sockaddr *)&copy, text, HTTP_ADDRESS_TEXT) == 0;
}

struct http_addresses *http_addresses_new(void)
{
    struct http_addresses *addresses = calloc(1, sizeof(*addresses));

    if (!addresses)
        abort();
    return addresses;
}

void http_addresses_free(struct http_addresses *addresses)
{
    free(addresses);
}

static struct http_address **address_place(struct http_addresses *addresses,
                                           const char *text)
{
    uint32_t hash = 2166136261U;

    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    struct http_address **place = &addresses->buckets[hash % BUCKETS];
    while (*place && strcmp((*place)->text, text) != 0)
        place = &(*place)->next;
    return place;
}

struct http_address *http_address_take(struct http_addresses *addresses,
                                       const char *text)
{
    struct http_address **place = address_place(addresses, text);

    if (!*place) {
        *place = calloc(1, sizeof(**place));
        if (!*place)
            abort();
        memcpy((*place)->text, text, strlen(text) + 1);
    }
    (*place)->connections++;
    return *place;
}

void http_address_give(struct http_addresses *addresses,
                       struct http_address *address)
{
    if (!address || --address->connections > 0)
        return;
    *address_place(addresses, address->text) = address->next;
    free(address);
}
