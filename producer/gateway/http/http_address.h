/* http_address.h - whose a connection is, and how many that peer has.
 *
 * Of IPv6 an address is the network of 64 bits: one host may use all of it. */
#ifndef PRODUCER_GATEWAY_HTTP_ADDRESS_H
#define PRODUCER_GATEWAY_HTTP_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { HTTP_ADDRESS_TEXT = 46 };

struct http_addresses;

struct http_address {
    struct http_address *next;
    uint32_t connections;
    char text[HTTP_ADDRESS_TEXT];
};

/* "192.0.2.1" or "2001:db8:1:2::". False: it is neither v4 nor v6. */
bool http_address_text(const struct sockaddr_storage *peer,
                       char text[HTTP_ADDRESS_TEXT]);

struct http_addresses *http_addresses_new(void);
void http_addresses_free(struct http_addresses *addresses); /* accepts NULL */

/* Counts one connection more. */
struct http_address *http_address_take(struct http_addresses *addresses,
                                       const char *text);
/* Counts one less, and forgets an address that has none; accepts NULL. */
void http_address_give(struct http_addresses *addresses,
                       struct http_address *address);

#endif
