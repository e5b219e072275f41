/* main.c - quern-proxy: the way out of boxes that may reach the internet.
 *
 * Started by the warden with a channel on descriptor PROXY_CHANNEL; it is of
 * no use by hand. What it reads there is trusted, all else is not. The warden
 * itself has no network; this process has one, but can write no file, start no
 * program and signal nobody. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/wire.h"
#include "executor/box/landlock.h"
#include "executor/box/walls.h"
#include "executor/proxy/door.h"
#include "executor/proxy/proxy.h"
#include "schemas/service/log_event.h"

enum { MAX_PORTS = MAX_HOSTS + 3, DNS_PORT = 53 };

static struct {
    uv_loop_t loop;
    struct policy policy; /* the operator's */
    struct watch *channel;
    struct door *doors;
} proxy;

/* ------------------------------------------------------- the warden's words */

static struct door **proxy_find_door(uint64_t number)
{
    struct door **at = &proxy.doors;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void open_door(const struct proxy_word *word, int listener)
{
    struct door *door =
        door_new(&proxy.loop, word->door, listener, &proxy.policy);
    if (!door) {
        log_line("proxy.failed", NULL, "a door could not be opened");
        return;
    }
    memcpy(door->name, word->name, sizeof(door->name));
    door->next = proxy.doors;
    proxy.doors = door;
}

static void close_door(struct door **at)
{
    struct door *door = *at;
    *at = door->next;
    door_free(door);
}

/* A door that is not there: it could not be opened. */
static void obey(const struct proxy_word *word, int sent_fd)
{
    struct door **at = proxy_find_door(word->door);
    if (word->kind == PROXY_OPEN && sent_fd >= 0)
        open_door(word, sent_fd);
    else if (word->kind == PROXY_NAME && *at)
        memcpy((*at)->name, word->name, sizeof(word->name));
    else if (word->kind == PROXY_CLOSE && *at)
        close_door(at);
}

/* There is nothing to save: when the warden goes, the connections go. */
static void on_channel(void *owner, int events)
{
    struct proxy_word word;
    int sent_fd = -1;
    size_t count = 1;
    (void)owner;
    (void)events;
    ssize_t got = wire_receive(watch_fd(proxy.channel), &word, sizeof(word),
                               &sent_fd, &count, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got != sizeof(word))
        _exit(EX_OK);
    obey(&word, count == 1 ? sent_fd : -1);
}

/* ------------------------------------------------------------------ walls */

/* Lowers a limit to value; one that is lower already stays. */
static bool limit(int resource, rlim_t value, struct err *err)
{
    struct rlimit now;
    getrlimit((__rlimit_resource_t)resource, &now);
    if (now.rlim_max > value)
        now.rlim_max = value;
    now.rlim_cur = now.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &now) == 0 ||
           err_set(err, ERR_RETRY, "internal", "rlimit %d: %s", resource,
                   strerror(errno));
}

static bool set_limits(struct err *err)
{
    /* Two sockets for each link; the rest is for doors and look-ups. */
    return limit(RLIMIT_NOFILE, (rlim_t)3 * MAX_ALL_LINKS, err) &&
           limit(RLIMIT_CORE, 1, err);
}

/* The folder of the resolver's configuration: often resolv.conf is a link to
 * another folder. */
static const char *resolver_folder(char path[PATH_MAX])
{
    if (!realpath("/etc/resolv.conf", path))
        return "/etc";
    *strrchr(path, '/') = '\0';
    return path[0] ? path : "/etc";
}

/* TCP ports that Landlock lets us connect to: whatever a mistake in judging a
 * request lets through, it leads to no other port of any host. */
static size_t list_ports(uint16_t ports[MAX_PORTS])
{
    size_t count = 0;
    ports[count++] = DNS_PORT;
    ports[count++] = 80;
    ports[count++] = 443;
    for (size_t i = 0; i < proxy.policy.hosts.count; i++)
        if (proxy.policy.hosts.entries[i].port)
            ports[count++] = proxy.policy.hosts.entries[i].port;
    return count;
}

/* Files: those that the C library's resolver reads, and nothing else. */
static bool enter_landlock(struct err *err)
{
    char folder[PATH_MAX];
    uint16_t ports[MAX_PORTS];
    const struct landlock_path paths[] = {
        { "/etc", FS_READ },   { resolver_folder(folder), FS_READ },
        { "/usr", FS_READ },   { "/lib", FS_READ },
        { "/lib64", FS_READ },
    };
    struct landlock_plan plan = {
        .paths = paths,
        .path_count = sizeof(paths) / sizeof(paths[0]),
        .ports = ports,
        .port_count = list_ports(ports),
    };
    return landlock_enter(&plan, err);
}

static bool enter_walls(struct err *err)
{
    return set_limits(err) && caps_drop(err) && enter_landlock(err) &&
           seccomp_enter(&policy_proxy, err);
}

/* ------------------------------------------------------------------ start */

/* The warden's environment is no business of a process with a network. Names
 * are resolved as they are written, without the domains that this host's
 * configuration would append; a name server that does not answer is given up
 * after 3 s, twice. There are 32 threads for look-ups. */
static void set_environment(void)
{
    clearenv();
    setenv("LOCALDOMAIN", ".", 1);
    setenv("RES_OPTIONS", "ndots:1 timeout:3 attempts:2", 1);
    setenv("UV_THREADPOOL_SIZE", "32", 1);
}

/* Called when the walls are up: libuv uses io_uring if it can have it when the
 * loop begins, and would die if a wall forbade it later. */
static bool proxy_start(struct err *err)
{
    int failed = uv_loop_init(&proxy.loop);
    if (failed)
        return err_set(err, ERR_RETRY, "internal", "no loop: %s",
                       uv_strerror(failed));
    proxy.channel = watch_new(&proxy.loop, PROXY_CHANNEL, on_channel, NULL);
    watch_want(proxy.channel, UV_READABLE);
    return true;
}

int main(int argc, char **argv)
{
    struct err err;
    proxy.policy.most_bytes = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    if (proxy.policy.most_bytes == 0 ||
        !hosts_parse(&proxy.policy.hosts, view_of(argv[1]), &err)) {
        fprintf(stderr,
                "usage: quern-proxy HOST[,HOST...] BYTES LEVEL, started by "
                "quern-executor\n");
        return EX_USAGE;
    }
    log_set_least((enum log_severity)strtol(argv[3], NULL, 10));
    set_environment();
    signal(SIGPIPE, SIG_IGN);
    if (!enter_walls(&err) || !proxy_start(&err)) {
        log_line("proxy.failed", NULL, "%s", err.text);
        return EX_UNAVAILABLE;
    }
    uv_run(&proxy.loop, UV_RUN_DEFAULT);
    return EX_SOFTWARE;
}
