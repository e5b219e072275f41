/* fetch_policy.h - where a page may be fetched from.
 *
 * By default from the public internet (schemas/message/internet.h), ports 80
 * and 443. Operators make exceptions by two lists, allow and deny, with commas
 * or white space between their entries:
 *
 *   wiki.example             that host
 *   .example                 everything below, and itself
 *   10.1.2.3   fd00::7       an address
 *   10.0.0.0/8   fd00::/8    a network
 *   wiki.example:8080   10.0.0.0/8:8080   [fd00::7]:8080   that port only
 *
 * Denial wins. A host that is allowed may have any address, and an entry
 * without a port allows every port. */
#ifndef CONSUMER_FETCH_POLICY_H
#define CONSUMER_FETCH_POLICY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { MAX_FETCH_RULES = 64, MAX_FETCH_HOST = 253 };

/* One entry: a host, or a network. */
struct fetch_rule {
    char host[MAX_FETCH_HOST + 2]; /* ".example" with its dot; "": a network */
    uint8_t bytes[16];             /* of the network; IPv4 mapped into IPv6 */
    unsigned int bits;             /* that count of these, 0 to 128 */
    uint16_t port;                 /* 0: every port */
};

struct fetch_rules {
    struct fetch_rule items[MAX_FETCH_RULES];
    size_t count;
};

struct fetch_policy {
    struct fetch_rules allow, deny;
};

/* Replaces rules. Error: bad_setting, which entry is wrong, and why. */
bool fetch_rules_parse(struct fetch_rules *rules, struct view text,
                       struct err *err);

/* Whether a connection to address, with its port, may be made. host: the name
 * that it was resolved from, in small letters. Error: refused, a sentence for
 * the caller. */
bool fetch_policy_allows(const struct fetch_policy *policy, const char *host,
                         const struct sockaddr *address, struct err *err);

#endif
