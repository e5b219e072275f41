/* health.c - whether the process runs, and whether it can serve. */
#include "producer/gateway/api_request.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/native/native.h"

/* It never asks Redis: a gateway must not be started anew because Redis is
 * away. */
void health_live(struct api_request *request)
{
    api_request_json(request, 200, json_pack("{s:s}", "status", "live"));
}

bool health_is_ready(const struct gateway *gateway, struct err *why)
{
    if (gateway->draining)
        return err_set(why, ERR_RETRY, "draining",
                       "the gateway is about to end");
    return fleet_links_are_ready(gateway->links) ||
           err_set(why, ERR_RETRY, "redis_unavailable",
                   "the gateway has no connection to Redis");
}

void health_ready(struct api_request *request)
{
    struct err away;

    if (health_is_ready(request->gateway, &away))
        api_request_json(request, 200, json_pack("{s:s}", "status", "ready"));
    else
        api_request_refuse(request, &away);
}
