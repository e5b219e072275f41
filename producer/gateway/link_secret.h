/* link_secret.h - the secret by which links are signed: the same for all
 * gateways of a fleet.
 *
 * It is 32 random bytes in the key <prefix>{<prefix>fleet}:link_secret. The
 * first gateway that needs it makes it; each one remembers it for a minute. So
 * whoever deletes the key makes all links void, at every gateway within a
 * minute. */
#ifndef PRODUCER_GATEWAY_LINK_SECRET_H
#define PRODUCER_GATEWAY_LINK_SECRET_H

#include "producer/gateway/api_request.h"

/* Calls then when gateway->link_secret is known: at once, or when Redis has
 * answered. Else the request is answered. */
void link_secret_load(struct api_request *request,
                      void (*then)(struct api_request *request));

#endif
