/* door.c - the way out of one box.
 *
 * Two buckets are filled by the time that goes by: entries by LINKS_PER_S, the
 * allowance of bytes by BYTES_PER_S. A tick after something happened the alarm
 * looks again who may go on, for as long as there are links. */
#include "executor/proxy/door.h"

#include <stdlib.h>
#include <unistd.h>

#include "executor/proxy/link.h"

enum {
    BACKLOG = 16, /* connections that the kernel lets wait */
    TICK_MS = 100,
    ENTRY = 1000,      /* one link: entries are counted in thousandths */
    MOST_MS = 1000000, /* an idle door is filled up long before: no overflow */
};

/* Links of all doors: descriptors and memory of this process are shared. */
static unsigned int all_links;

static int64_t door_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What a second gives, by the time that has gone by. Bytes are not saved up
 * for more than a tick. */
static void fill_up(struct door *door)
{
    uint64_t now = clock_ms();
    int64_t past = door_least((int64_t)(now - door->seen_ms), MOST_MS);
    door->seen_ms = now;
    door->entries = door_least(door->entries + past * LINKS_PER_S,
                               (int64_t)LINKS_AT_ONCE * ENTRY);
    door->allowance = door_least(door->allowance + past * (BYTES_PER_S / 1000),
                                 (int64_t)TICK_MS * (BYTES_PER_S / 1000));
}

/* At once for 0; else a wake that is due already is left as it is. */
static void wake_after(struct door *door, uint64_t ms)
{
    if (!door->alarm || (door->waking && ms > 0))
        return;
    door->waking = true;
    alarm_set(door->alarm, ms);
}

/* libuv tells of the next connection only when this one is accepted. So a
 * session that may not have more links fills the kernel's queue, and no memory
 * here. */
static void let_in(struct door *door)
{
    if (!door->knocked || door->open >= MAX_LINKS + MAX_TOLD_LINKS ||
        door->entries < ENTRY || all_links >= MAX_ALL_LINKS)
        return;
    door->knocked = false;
    door->entries -= ENTRY;
    door->open++;
    all_links++;
    link_new(door);
}

static void on_knock(uv_stream_t *listener, int status)
{
    struct door *door = listener->data;
    if (status < 0)
        return;
    door->knocked = true;
    fill_up(door);
    let_in(door);
    wake_after(door, TICK_MS);
}

static void on_alarm(void *owner)
{
    struct door *door = owner;
    door->waking = false;
    fill_up(door);
    for (struct proxy_link *link = door->links, *next; link; link = next) {
        next = link_next(link);
        link_resume(link);
    }
    let_in(door);
    if (door->open > 0 || door->knocked)
        wake_after(door, TICK_MS);
}

static void free_when_done(struct door *door)
{
    if (door->closed && door->lookups == 0)
        free(door);
}

static void on_closed(uv_handle_t *handle)
{
    struct door *door = handle->data;
    door->closed = true;
    free_when_done(door);
}

struct door *door_new(uv_loop_t *loop, uint64_t number, int listener,
                      const struct policy *policy)
{
    struct door *door = allocate(sizeof(*door));
    door->number = number;
    door->policy = policy;
    door->alarm = alarm_new(loop, on_alarm, door);
    door->listener.data = door;
    uv_tcp_init(loop, &door->listener);
    bool opened = uv_tcp_open(&door->listener, listener) == 0;
    if (opened &&
        uv_listen((uv_stream_t *)&door->listener, BACKLOG, on_knock) == 0)
        return door;
    if (!opened)
        close(listener);
    door_free(door);
    return NULL;
}

void door_free(struct door *door)
{
    for (struct proxy_link *link = door->links, *next; link; link = next) {
        next = link_next(link);
        link_end(link);
    }
    alarm_free(door->alarm);
    door->alarm = NULL;
    uv_close((uv_handle_t *)&door->listener, on_closed);
}

void door_count(struct door *door, size_t bytes)
{
    door->allowance -= (int64_t)bytes;
    door->passed += bytes;
}

bool door_is_wide(const struct door *door)
{
    return door->allowance > 0;
}

bool door_is_used_up(const struct door *door)
{
    return door->passed >= door->policy->most_bytes;
}

bool door_admit(struct door *door)
{
    if (door->admitted == MAX_LINKS)
        return false;
    door->admitted++;
    return true;
}

void door_leave(struct door *door, bool admitted)
{
    door->open--;
    door->admitted -= admitted;
    all_links--;
    wake_after(door, 0);
}

void door_looked_up(struct door *door)
{
    door->lookups--;
    wake_after(door, 0);
    free_when_done(door);
}
