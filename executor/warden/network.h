/* network.h - the warden's end of quern-proxy, the way out of boxes.
 *
 * The warden itself connects to nobody outside: it starts the proxy, hands it
 * the listening socket of each box, and starts it again when it dies. It keeps
 * each socket too, so that a new proxy can have it; connections are lost. */
#ifndef EXECUTOR_WARDEN_NETWORK_H
#define EXECUTOR_WARDEN_NETWORK_H

#include "executor/base/loop.h"
#include "executor/warden/settings.h"

struct network;
struct box_door; /* of one box */

/* The operator's policy is settings->hosts. */
struct network *network_new(uv_loop_t *loop,
                            const struct executor_settings *settings);
/* Closes every door; the proxy ends. Accepts NULL. */
void network_free(struct network *network);

/* Takes the listening socket. */
struct box_door *door_new(struct network *network, int listener);
/* Names its session, for the proxy's log. Accepts NULL. */
void door_name(struct box_door *door, const char *name);
void door_free(struct box_door *door); /* accepts NULL */

#endif
