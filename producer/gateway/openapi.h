/* openapi.h - the document that describes all routes. */
#ifndef PRODUCER_GATEWAY_OPENAPI_H
#define PRODUCER_GATEWAY_OPENAPI_H

#include <jansson.h>

#include "producer/gateway/route.h"

/* OpenAPI 3.1, whole: a new reference. */
json_t *openapi_json(void);

extern const struct route_table openapi_routes;

#endif
