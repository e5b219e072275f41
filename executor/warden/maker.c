/* maker.c - asks quern-box for boxes. */
#include "executor/warden/maker.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "executor/base/loop.h"
#include "executor/base/wire.h"
#include "executor/warden/spawn.h"

struct maker {
    uv_loop_t *loop;
    const struct executor_settings *settings;
    int channel; /* -1: it has not been started */
};

struct maker *maker_new(uv_loop_t *loop,
                        const struct executor_settings *settings)
{
    struct maker *maker = allocate(sizeof(*maker));
    *maker = (struct maker){ loop, settings, -1 };
    return maker;
}

void maker_free(struct maker *maker)
{
    close_fd(&maker->channel);
    free(maker);
}

static bool maker_start(struct maker *maker)
{
    char *argv[] = { maker->settings->box_path, NULL };
    int pair[2];
    close_fd(&maker->channel);
    if (!wire_pair(SOCK_SEQPACKET, pair))
        return false;
    if (spawn(maker->loop, argv, pair[1]) > 0)
        maker->channel = take_fd(&pair[0]);
    close_fd(&pair[0]);
    close_fd(&pair[1]);
    return maker->channel >= 0;
}

/* One that takes no more orders has died or hangs. It is replaced; boxes that
 * it was asked for do not come, and their deadline tells. */
bool maker_ask(struct maker *maker, const struct box_order *order,
               const int fds[ORDER_FDS])
{
    struct view bytes = { (const char *)order, sizeof(*order) };
    size_t count = order->user ? ORDER_FDS : ORDER_POOL;
    return (maker->channel >= 0 &&
            wire_send(maker->channel, bytes, fds, count, MSG_DONTWAIT) > 0) ||
           (maker_start(maker) &&
            wire_send(maker->channel, bytes, fds, count, MSG_DONTWAIT) > 0);
}
