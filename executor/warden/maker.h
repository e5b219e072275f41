/* maker.h - asks quern-box for boxes.
 *
 * quern-box is started at the first order, and again when it has died. Boxes
 * are forked from it, not from the warden, because it has few descriptors and
 * little memory, however many sessions the warden has. */
#ifndef EXECUTOR_WARDEN_MAKER_H
#define EXECUTOR_WARDEN_MAKER_H

#include <uv.h>

#include "executor/box/box.h"
#include "executor/warden/settings.h"

struct maker;

/* Borrows both for its life. */
struct maker *maker_new(uv_loop_t *loop,
                        const struct executor_settings *settings);
/* quern-box ends; the boxes that it made do not. */
void maker_free(struct maker *maker);

/* Borrows fds, in the order of enum order_fd. What comes of the order is told
 * on the other end of fds[ORDER_CHANNEL]; if that closes without a word, there
 * is no box. False: quern-box does not start, and the log says why. */
bool maker_ask(struct maker *maker, const struct box_order *order,
               const int fds[ORDER_FDS]);

#endif
