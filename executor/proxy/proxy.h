/* proxy.h - what the warden and quern-proxy say to each other.
 *
 * quern-proxy HOSTS BYTES is started with a SOCK_SEQPACKET socket as descriptor
 * PROXY_CHANNEL. HOSTS is a list as hosts.h reads it, BYTES is how many may
 * pass each door in all. Each struct proxy_word that comes in is about one
 * door: the listening socket of one box. The proxy answers nothing, logs on
 * stderr, and ends when the channel is closed. The warden is trusted; boxes,
 * name servers and hosts are not.
 *
 *   in the box                 quern-proxy               the internet
 *   127.0.0.1:BOX_PROXY_PORT --- door ---- link ---- checked address
 *                                  `------ link ---- ...             */
#ifndef EXECUTOR_PROXY_PROXY_H
#define EXECUTOR_PROXY_PROXY_H

#include <stdint.h>

#include "schemas/message/limits.h"

enum { PROXY_CHANNEL = 3 };

enum proxy_word_kind {
    PROXY_OPEN,  /* door, name; its socket rides along, and is taken */
    PROXY_NAME,  /* door, name: for the log, once a session has the box */
    PROXY_CLOSE, /* door: the box is gone */
};

struct proxy_word {
    int kind;                      /* enum proxy_word_kind */
    uint64_t door;                 /* chosen by the warden, never used again */
    char name[MAX_NAME_BYTES + 1]; /* of the session; empty: not known yet */
};

#endif
