/* network.c - the warden's end of quern-proxy. */
#include "executor/warden/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/wire.h"
#include "executor/proxy/proxy.h"
#include "executor/warden/spawn.h"

enum { RESTART_MS = 500 };

struct box_door {
    struct box_door *next;
    struct network *network;
    uint64_t number;
    int listener;
    char name[MAX_NAME_BYTES + 1];
};

struct network {
    uv_loop_t *loop;
    const struct executor_settings *settings;
    struct watch *channel; /* NULL: down */
    struct loop_alarm *restart;
    struct box_door *doors;
    uint64_t numbers;
};

static void network_go_down(struct network *network, const char *why)
{
    log_line("proxy.down", NULL, "%s", why);
    watch_free(network->channel);
    network->channel = NULL;
    alarm_set(network->restart, RESTART_MS);
}

/* The proxy sends nothing: if its channel can be read, it has ended. */
static void on_channel(void *owner, int events)
{
    (void)events;
    network_go_down(owner, "quern-proxy ended");
}

/* A proxy that hangs does not read its channel, and is replaced when that is
 * full. It ends when it finds its channel closed. */
static void network_say(const struct box_door *door, enum proxy_word_kind kind)
{
    struct network *network = door->network;
    struct proxy_word word = { .kind = (int)kind, .door = door->number };
    struct view bytes = { (const char *)&word, sizeof(word) };
    if (!network->channel)
        return;
    memcpy(word.name, door->name, sizeof(word.name));
    if (wire_send(watch_fd(network->channel), bytes, &door->listener,
                  kind == PROXY_OPEN, MSG_DONTWAIT) < 0)
        network_go_down(network, "quern-proxy does not listen");
}

static void go_up(struct network *network)
{
    int pair[2];
    if (!wire_pair(SOCK_SEQPACKET, pair)) {
        alarm_set(network->restart, RESTART_MS);
        return;
    }
    char bytes[32], level[8];
    snprintf(bytes, sizeof(bytes), "%llu",
             (unsigned long long)network->settings->traffic_bytes);
    snprintf(level, sizeof(level), "%d", network->settings->log_level);
    char *argv[] = { network->settings->proxy_path, network->settings->hosts,
                     bytes, level, NULL };
    network->channel = watch_new(network->loop, pair[0], on_channel, network);
    int pid = spawn(network->loop, argv, pair[1]);
    close(pair[1]);
    if (pid < 0) {
        network_go_down(network, "it could not be started");
        return;
    }
    watch_want(network->channel, UV_READABLE);
    for (const struct box_door *door = network->doors; door; door = door->next)
        network_say(door, PROXY_OPEN);
}

static void on_restart(void *owner)
{
    go_up(owner);
}

struct network *network_new(uv_loop_t *loop,
                            const struct executor_settings *settings)
{
    struct network *network = allocate(sizeof(*network));
    network->loop = loop;
    network->settings = settings;
    network->restart = alarm_new(loop, on_restart, network);
    go_up(network);
    return network;
}

void network_free(struct network *network)
{
    if (!network)
        return;
    while (network->doors)
        door_free(network->doors);
    watch_free(network->channel);
    alarm_free(network->restart);
    free(network);
}

struct box_door *door_new(struct network *network, int listener)
{
    struct box_door *door = allocate(sizeof(*door));
    door->network = network;
    door->number = ++network->numbers;
    door->listener = listener;
    door->next = network->doors;
    network->doors = door;
    network_say(door, PROXY_OPEN);
    return door;
}

void door_name(struct box_door *door, const char *name)
{
    if (!door)
        return;
    snprintf(door->name, sizeof(door->name), "%s", name);
    network_say(door, PROXY_NAME);
}

void door_free(struct box_door *door)
{
    if (!door)
        return;
    struct box_door **link = &door->network->doors;
    while (*link != door)
        link = &(*link)->next;
    *link = door->next;
    network_say(door, PROXY_CLOSE);
    close_fd(&door->listener);
    free(door);
}
