/* door.c - the only place that code in a box can connect to.
 *
 * The box's network namespace has nothing but its own loopback. The socket that
 * listens there goes to the warden, and from it to quern-proxy, which accepts
 * connections from outside. Code in the box cannot listen in its place: the
 * port is taken before any code runs. */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executor/box/box.h"
#include "executor/box/walls.h"

enum { BACKLOG = 16 };

/* Needs CAP_NET_ADMIN in the box, which harden() takes away later. */
static void raise_loopback(void)
{
    struct ifreq request = { .ifr_name = "lo" };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        box_die("loopback");
    request.ifr_flags |= IFF_UP;
    if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        box_die("loopback");
    close(fd);
}

int door_open(void)
{
    raise_loopback();
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(BOX_PROXY_PORT),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0)
        box_die("door");
    return fd;
}
