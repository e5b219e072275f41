/* native.c - the table of quern's own routes. */
#include "producer/gateway/native/native.h"

static const struct api_route routes[] = {
    { .method = HTTP_METHOD_GET, .pattern = "/livez", .handle = health_live },
    { .method = HTTP_METHOD_GET, .pattern = "/readyz", .handle = health_ready },
};

const struct route_table native_routes = {
    routes,
    sizeof(routes) / sizeof(routes[0]),
};
