/* routes.c - the tables of all routes. */
#include "producer/gateway/native/native.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/openapi.h"
#include "producer/gateway/operate/operate.h"
#include "producer/gateway/page/page.h"
#include "producer/gateway/plugs/plugs.h"
#include "producer/gateway/route.h"

const struct route_table *const route_tables[] = {
    &native_routes, &operate_routes, &openai_routes, &plugs_routes,
    &page_routes,   &openapi_routes, NULL,
};
