/* tool_host.h - what calls of tools need of the process that they are in. The
 * consumer has one, which outlives all calls. */
#ifndef CONSUMER_TOOL_HOST_H
#define CONSUMER_TOOL_HOST_H

#include <uv.h>

#include "consumer/tools/cache.h"
#include "schemas/http/http.h"

struct reader;

/* The quern-readers of this process. At most MAX_READERS run at once, others
 * wait. Written by reader.c only. */
struct readers {
    unsigned int running;
    struct reader *waiting; /* the one that waits longest comes first */
};

struct tool_host {
    uv_loop_t *loop;
    struct http *http;
    struct cache *cache; /* of answers of searches */
    char *reader;        /* path of quern-reader; NULL: there is none */
    struct readers readers;
};

#endif
