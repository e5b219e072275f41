/* server.c - a redis-server of our own for a C test. */
#include "tests/unit/redis/server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    abort();
}

static void run_server(const struct server *server)
{
    char port[16];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(port, sizeof(port), "%d", server->port);
    if (!freopen("/dev/null", "w", stdout))
        die("/dev/null");
    execlp("redis-server", "redis-server", "--port", port, "--bind",
           "127.0.0.1", "--unixsocket", server->socket, "--dir", server->folder,
           "--save", "", "--enable-debug-command", "yes",
           server->password ? "--requirepass" : NULL, server->password,
           (char *)NULL);
    die("redis-server");
}

static int answers(const struct server *server)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char first = 0;

    memcpy(address.sun_path, server->socket, strlen(server->socket));
    /* +PONG, or -NOAUTH: either is an answer. */
    int ok = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
             write(fd, "PING\r\n", 6) == 6 && read(fd, &first, 1) == 1;
    close(fd);
    return ok;
}

void server_restart(struct server *server)
{
    unlink(server->socket);
    server->pid = fork();
    if (server->pid == 0)
        run_server(server);
    for (int i = 0; i < 500; i++) {
        if (answers(server))
            return;
        usleep(10000);
    }
    die("redis-server does not answer");
}

void server_start(struct server *server, int port, const char *password)
{
    signal(SIGPIPE, SIG_IGN);
    *server = (struct server){ .port = port, .password = password };
    strcpy(server->folder, "/tmp/quern-test-XXXXXX");
    if (!mkdtemp(server->folder))
        die("mkdtemp");
    snprintf(server->socket, sizeof(server->socket), "%s/redis.sock",
             server->folder);
    snprintf(server->url, sizeof(server->url), "unix://%s", server->socket);
    server_restart(server);
}

void server_kill(struct server *server)
{
    if (server->pid <= 0)
        return;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

void server_stop(struct server *server)
{
    server_kill(server);
    unlink(server->socket);
    rmdir(server->folder);
}

int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        die("free_port");
    close(fd);
    return ntohs(address.sin_port);
}
