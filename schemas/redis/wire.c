/* wire.c - bytes to and from one Redis server, never waiting. */
#include "schemas/redis/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool unavailable(struct err *err, const char *what)
{
    return err_set(err, ERR_RETRY, "redis_unavailable", "%s", what);
}

static bool broken(const redisContext *wire, struct err *err)
{
    const char *reason = tls_reason(wire);

    if (!reason)
        reason = wire->errstr[0] ? wire->errstr : "broken";
    return unavailable(err, reason);
}

redisContext *wire_open(const struct address *address, const struct node *node,
                        const char *ip, struct err *err)
{
    redisContext *wire = address->path ? redisConnectUnixNonBlock(address->path)
                                       : redisConnectNonBlock(ip, node->port);
    if (!wire)
        abort();
    if (!wire->err)
        return wire;
    broken(wire, err);
    redisFree(wire);
    return NULL;
}

bool wire_connected(redisContext *wire, const struct address *address,
                    const struct node *node, struct err *err)
{
    int error = 0;
    socklen_t size = sizeof(error);

    if (getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error)
        return unavailable(err, strerror(error));
    /* A server that has vanished without closing is noticed after 30 s: hiredis
     * sets 15 s of silence, then three probes, 5 s apart. */
    if (!address->path && redisEnableKeepAlive(wire) != REDIS_OK)
        return broken(wire, err);
    if (address->tls)
        return tls_start(wire, &address->files, node->host, err);
    return true;
}

void wire_put(redisContext *wire, const struct command *command)
{
    if (redisAppendCommandArgv(wire, command->argc, command->argv,
                               command->argvlen) != REDIS_OK)
        abort(); /* memory is out */
}

bool wire_flush(redisContext *wire, bool *done, struct err *err)
{
    int all = 0;

    if (redisBufferWrite(wire, &all) != REDIS_OK)
        return broken(wire, err);
    *done = all;
    return true;
}

/* One call of redisBufferRead() is one read of a fixed size: when it came back
 * full there is likely more. Bounded, so that others have their turn. */
bool wire_fill(redisContext *wire, struct err *err)
{
    enum { HIREDIS_READ_BYTES = 16384, MAX_READS = 64 };

    for (int i = 0; i < MAX_READS; i++) {
        size_t before = wire->reader->len;
        if (redisBufferRead(wire) != REDIS_OK)
            return broken(wire, err);
        if (wire->reader->len > before)
            tls_heard(wire);
        if (wire->reader->len - before < HIREDIS_READ_BYTES)
            return true;
    }
    return true;
}

bool wire_next(redisContext *wire, redisReply **reply, struct err *err)
{
    void *whole = NULL;

    if (redisGetReplyFromReader(wire, &whole) != REDIS_OK)
        return broken(wire, err);
    *reply = whole;
    return true;
}
