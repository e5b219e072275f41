/* notify.c - tells systemd what a service does. */
#include "schemas/service/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "schemas/service/log.h"

void notify_systemd(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (!path || strlen(path) >= sizeof(to.sun_path))
        return;
    size_t len = strlen(path);
    memcpy(to.sun_path, path, len);
    if (to.sun_path[0] == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
               size) < 0)
        log_line("systemd.unreachable", "{s:s}", "why", strerror(errno));
    close(fd);
}

uint64_t notify_watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    return !text ? 0 : strtoull(text, NULL, 10) / 3000;
}
