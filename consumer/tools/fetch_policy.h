/* fetch_policy.h - where a page may be fetched from.
 *
 * From the public internet, ports 80 and 443. Operators make exceptions, as
 * lists with commas or white space between their entries:
 *
 *   wiki.example             that host
 *   .example                 everything below, and itself
 *   10.1.2.3   fd00::7       an address
 *   10.0.0.0/8   fd00::/8    a network
 *   wiki.example:8080   10.0.0.0/8:8080   [fd00::7]:8080   that port only
 *
 * What is denied is denied; what is allowed is let go to whatever addresses
 * its name has, and to every port unless one is named. */
#ifndef CONSUMER_FETCH_POLICY_H
#define CONSUMER_FETCH_POLICY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { MAX_FETCH_RULES = 64, MAX_FETCH_HOST = 253 };

struct fetch_rule {
    char host[MAX_FETCH_HOST + 2]; /* a suffix begins with its dot; "": none */
    uint8_t bytes[16];             /* else an address, IPv4 in IPv6 */
    unsigned int bits;             /* of it, that count */
    uint16_t port;                 /* 0: every one */
};

struct fetch_rules {
    struct fetch_rule items[MAX_FETCH_RULES];
    size_t count;
};

struct fetch_policy {
    struct fetch_rules allow, deny;
};

/* Error: bad_setting, which entry is wrong, and why. */
bool fetch_rules_parse(struct fetch_rules *rules, struct view text,
                       struct err *err);

/* host, in small letters, has become that address, and a connection is about to
 * be made to it. Error: refused, a sentence for whoever calls. */
bool fetch_policy_allows(const struct fetch_policy *policy, const char *host,
                         const struct sockaddr *address, struct err *err);

#endif
