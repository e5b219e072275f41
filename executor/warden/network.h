/* network.h - the warden's end of quern-proxy, the way out of boxes.
 *
 * The warden speaks to nobody outside: it starts the proxy, hands it the
 * listening socket of each box, and starts it again when it dies. */
#ifndef EXECUTOR_WARDEN_NETWORK_H
#define EXECUTOR_WARDEN_NETWORK_H

#include "executor/base/loop.h"
#include "executor/warden/settings.h"

struct network;
struct box_door; /* of one box */

/* The operator's policy is settings->hosts. */
struct network *network_new(uv_loop_t *loop,
                            const struct executor_settings *settings);
/* Every door is closed. Accepts NULL. */
void network_free(struct network *network);

/* Takes the listening socket. */
struct box_door *door_new(struct network *network, int listener);
/* What the log calls it: its session. */
void door_name(struct box_door *door, const char *name);
void door_free(struct box_door *door); /* accepts NULL */

#endif
