/* librechat_check.h - the body of POST /v1/librechat/exec.
 *
 * Members that are not known are ignored: LibreChat sends more with each
 * release, and none of them changes what runs. */
#ifndef PRODUCER_GATEWAY_PLUGS_LIBRECHAT_CHECK_H
#define PRODUCER_GATEWAY_PLUGS_LIBRECHAT_CHECK_H

#include "producer/gateway/api_request.h"

/* False: it is wrong, and the request is answered. */
bool librechat_check(struct api_request *request, const json_t *body);

/* The session that one of its files names; NULL: none. */
const char *librechat_session_asked(const json_t *file);

#endif
