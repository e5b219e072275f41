/* maker.h - asks quern-box for boxes.
 *
 * quern-box is started at the first order, and again when it has died. It is
 * forked from instead of the warden because it has few descriptors and little
 * memory, however many sessions the warden has. */
#ifndef EXECUTOR_WARDEN_MAKER_H
#define EXECUTOR_WARDEN_MAKER_H

#include <uv.h>

#include "executor/box/box.h"
#include "executor/warden/settings.h"

struct maker;

/* Borrows both. */
struct maker *maker_new(uv_loop_t *loop,
                        const struct executor_settings *settings);
/* No box ends with it. */
void maker_free(struct maker *maker);

/* fds are lent, in the order of enum order_fd. What comes of it is said on the
 * other end of fds[ORDER_CHANNEL]; when that closes, nothing does. False: the
 * program does not start, and the log says why. */
bool maker_ask(struct maker *maker, const struct box_order *order,
               const int fds[ORDER_FDS]);

#endif
