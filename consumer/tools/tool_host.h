/* tool_host.h - what calls of tools need of the process that they are in. */
#ifndef CONSUMER_TOOL_HOST_H
#define CONSUMER_TOOL_HOST_H

#include <uv.h>

#include "consumer/model/http.h"
#include "consumer/tools/cache.h"

struct reader;

/* At once, so many; the next ones wait, in order. */
struct readers {
    unsigned int running;
    struct reader *waiting;
};

struct tool_host {
    uv_loop_t *loop;
    struct http *http;
    struct cache *cache;
    char *reader; /* path of quern-reader; NULL: there is none */
    struct readers readers;
};

#endif
