/* proxy.h - what the warden and quern-proxy say to each other.
 *
 * quern-proxy HOSTS BYTES is started with a SOCK_SEQPACKET socket as descriptor
 * PROXY_CHANNEL; HOSTS is a list as hosts.h reads it, BYTES what may pass a
 * door in all. Each struct proxy_word
 * that comes in is about one door: the listening socket of one box. It says
 * nothing back, logs on stderr, and ends when the channel is closed.
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
    PROXY_OPEN,  /* door, name; its socket rides along */
    PROXY_NAME,  /* door, name: for the log, once a session has the box */
    PROXY_CLOSE, /* door: the box is gone */
};

struct proxy_word {
    int kind;
    uint64_t door;
    char name[MAX_NAME_BYTES + 1];
};

#endif
