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

void health_ready(struct api_request *request)
{
    const struct gateway *gateway = request->gateway;
    struct err away;

    if (gateway->draining)
        err_set(&away, ERR_RETRY, "draining", "the gateway is about to end");
    else if (!fleet_links_are_ready(gateway->links))
        err_set(&away, ERR_RETRY, "redis_unavailable",
                "the gateway has no connection to Redis");
    else {
        api_request_json(request, 200, json_pack("{s:s}", "status", "ready"));
        return;
    }
    api_request_refuse(request, &away);
}
