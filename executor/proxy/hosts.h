/* hosts.h - where an operator lets sessions go: a list of hosts.
 *
 *   pypi.org              that host, ports 80 and 443
 *   .wikipedia.org        everything below wikipedia.org, and itself
 *   example.com:8443      that port only
 *   93.184.215.14, [2606:2800:21f:cb07::1]:80
 *
 * Names are compared as they are written, in small letters; they are resolved
 * by whoever connects. Nothing here asks the network. */
#ifndef EXECUTOR_PROXY_HOSTS_H
#define EXECUTOR_PROXY_HOSTS_H

#include <stdint.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum {
    MAX_HOST_BYTES = 253, /* as DNS has it */
    MAX_HOSTS = 256,
    MAX_HOSTS_BYTES = 32 << 10, /* of a list, as text */
};

struct host {
    char name[MAX_HOST_BYTES + 2]; /* a suffix begins with its dot */
    uint16_t port;                 /* 0: 80 and 443 */
};

struct hosts {
    size_t count;
    struct host entries[MAX_HOSTS];
};

/* text: entries, with commas or white space between them; in lines of a file
 * also # and a comment. At least one. err: which entry is wrong, and why. */
bool hosts_parse(struct hosts *hosts, struct view text, struct err *err);

bool hosts_allow(const struct hosts *hosts, const char *name, uint16_t port);

/* "pypi.org, .wikipedia.org, ...": as many as there is room for. */
void hosts_describe(const struct hosts *hosts, char *text, size_t size);

/* One "name:port", "[IPv6]:port" or either without port, in the form that is
 * compared: small letters, no dot at the end, addresses as inet_ntop() writes
 * them. Other spellings of an address (octal, one number) are refused. *port
 * stays as it is when none is given. */
bool host_parse(struct view text, char name[MAX_HOST_BYTES + 1], uint16_t *port,
                struct err *err);

#endif
