/* gateway.h - what the parts of quern-gateway share, and who may use what.
 *
 *   http_server ──▶ api_request ──▶ route ──▶ access ──▶ a handler of native/
 *   (http/)              │                      │            │        │
 *                        │                      ▼            ▼        ▼
 *                        │                  fleet_links   fleet_links work
 *                        │                  (keys)        (loop)      (threads)
 *                        ◀── answer, error, stream ──────────┘
 *
 * All but the threads of work run on one libuv loop. main() makes and frees the
 * gateway and its parts; the parts borrow it, and change nothing in it but
 * themselves. */
#ifndef PRODUCER_GATEWAY_H
#define PRODUCER_GATEWAY_H

#include <uv.h>

#include "producer/gateway/link_token.h"
#include "producer/gateway/settings.h"
#include "schemas/redis/address.h"
#include "schemas/redis/names.h"

struct gateway {
    uv_loop_t *loop;
    struct gateway_settings settings;
    struct address redis;
    struct names names;

    struct fleet_links *links;   /* calls of Redis */
    struct submits *submits;     /* jobs on their way to Redis */
    struct left_jobs *left_jobs; /* jobs that nobody waits for any more */
    struct model_list *models;   /* which models a request may name */
    struct work *work;           /* calls of libquern, in threads */
    struct access *access;       /* who may do what */
    struct followers *followers; /* who follows which job */
    struct http_server *server;
    struct numbers *numbers; /* NULL: no --metrics */
    struct http_tls *tls;    /* NULL: HTTP in the clear */
    uint64_t
        request_id; /* of the last one; the first one is chosen by chance */
    uint64_t blob_bytes; /* in memory, see native/blob_memory.h */
    unsigned char link_secret[LINK_SECRET_BYTES]; /* of link_secret.h */
    uint64_t link_secret_until; /* the loop's clock: then it is asked anew */
    bool is_replaying;          /* of native/replay.c */
    bool draining;              /* no more work is wanted: readyz says so */
};

#endif
