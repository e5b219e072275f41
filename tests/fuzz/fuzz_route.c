/* fuzz_route.c - whatever servers say of others: the way goes on to a server
 * that there may be, and ends.
 *
 * The first byte says what kind of address it is; the rest is what they answer,
 * in RESP, one reply after the other. */
#include <string.h>

#include "schemas/redis/route.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/resp.h"

static void check_node(const struct route *route)
{
    const struct node *node = route_node(route);
    MUST(node->host[0] && strlen(node->host) <= NODE_MAX_HOST);
    MUST(node->port > 0 && node->port <= 65535);
}

static void hear(struct route *route, const redisReply *reply)
{
    struct err err = { .kind = ERR_NONE };

    if (reply->type == REDIS_REPLY_ERROR &&
        strncmp(reply->str, "MOVED", 5) == 0) {
        route_follow(route, reply, &err);
        MUST(err.kind != ERR_NONE);
        return;
    }
    route->owed = 1;
    if (route_hear(route, reply, &err) == ROUTE_ASTRAY) {
        MUST(err.kind != ERR_NONE);
        route_stray(route);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const urls[] = { "redis+cluster://a:7000,b:7000",
                                        "redis+sentinel://a:7000,b/m",
                                        "redis://a:7000" };
    struct address address;
    struct route route;

    if (size == 0 || !resp_is_modest(data, size))
        return 0;
    MUST(address_parse(&address, view_of(urls[data[0] % 3]), NULL));
    route_init(&route, &address, 100);
    address_finish(&address);
    redisReader *reader = redisReaderCreate();
    redisReaderFeed(reader, (const char *)data + 1, size - 1);
    for (void *reply = NULL;
         redisReaderGetReply(reader, &reply) == REDIS_OK && reply;) {
        hear(&route, reply);
        check_node(&route);
        freeReplyObject(reply);
    }
    redisReaderFree(reader);
    for (int i = 0; route_stray(&route); i++)
        MUST(i < 200);
    route_finish(&route);
    return 0;
}
