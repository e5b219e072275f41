/* request.h - the head of a request to a proxy (RFC 9112), read strictly.
 *
 *   CONNECT host:port HTTP/1.1       a tunnel: no look into what follows
 *   GET http://host/path HTTP/1.1    passed on as "GET /path", once
 *
 * Nothing is guessed: what two servers might read in two ways is refused. If
 * the host read a request in another way than we do, code could hide a second
 * one in it (request smuggling), to a host that was not checked. A connection
 * carries one request; its body has the length that its head names. */
#ifndef EXECUTOR_PROXY_REQUEST_H
#define EXECUTOR_PROXY_REQUEST_H

#include "executor/proxy/hosts.h"

enum {
    MAX_HEAD_BYTES = 16 << 10,
    MAX_HEADERS = 100,
    MAX_OPENING_BYTES = 128 << 10, /* the head anew, and what came behind it */
};

struct proxy_request {
    char host[MAX_HOST_BYTES + 1]; /* as host_parse() has it */
    uint16_t port;
    bool tunnel;
    uint64_t body_bytes; /* that follow the head; of a tunnel: 0 */
    struct buf head; /* written anew, to be sent to the host first; of a tunnel:
                        empty */
};

/* Bytes of the head that bytes begin with; 0: its end is not there yet. */
size_t request_head_bytes(struct view bytes);

/* head: all of it, with the empty line at its end. False: *status is what HTTP
 * calls that (400, 411, 501...), err says why. Finish it in either case. */
bool request_parse(struct proxy_request *request, struct view head, int *status,
                   struct err *err);
void request_finish(struct proxy_request *request);

#endif
