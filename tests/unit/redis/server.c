/* server.c - a redis-server of our own for a C test. */
#include "tests/unit/redis/server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
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

/* The command line, and what of it is made up on the way. */
struct line {
    const char *argv[40];
    int argc;
    char port[16], cert[96], key[96];
};

static void add(struct line *line, const char *name, const char *value)
{
    line->argv[line->argc++] = name;
    line->argv[line->argc++] = value;
}

static void add_tls(struct line *line, const struct server *server)
{
    snprintf(line->cert, sizeof(line->cert), "%s/cert.pem", server->folder);
    snprintf(line->key, sizeof(line->key), "%s/key.pem", server->folder);
    add(line, "--port", "0");
    add(line, "--tls-port", line->port);
    add(line, "--tls-cert-file", line->cert);
    add(line, "--tls-key-file", line->key);
    add(line, "--tls-ca-cert-file", line->cert);
    add(line, "--tls-auth-clients", "no");
}

static void run_server(const struct server *server)
{
    struct line line = { .argv = { "redis-server" }, .argc = 1 };

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(line.port, sizeof(line.port), "%d", server->port);
    if (server->tls_name)
        add_tls(&line, server);
    else
        add(&line, "--port", line.port);
    add(&line, "--bind", "127.0.0.1");
    add(&line, "--unixsocket", server->socket);
    add(&line, "--dir", server->folder);
    add(&line, "--save", "");
    add(&line, "--enable-debug-command", "yes");
    if (server->password)
        add(&line, "--requirepass", server->password);
    if (!freopen("/dev/null", "w", stdout))
        die("/dev/null");
    /* Another program, valkey-server for example. */
    const char *program = getenv("QUERN_REDIS_SERVER");
    if (!program)
        program = "redis-server";
    execvp(program, (char *const *)(uintptr_t)line.argv);
    die(program);
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

static void make_folder(struct server *server)
{
    signal(SIGPIPE, SIG_IGN);
    memcpy(server->folder, "/tmp/quern-test-XXXXXX", 23);
    if (!mkdtemp(server->folder))
        die("mkdtemp");
    snprintf(server->socket, sizeof(server->socket), "%s/redis.sock",
             server->folder);
    snprintf(server->url, sizeof(server->url), "unix://%s", server->socket);
}

void server_start(struct server *server, int port, const char *password)
{
    *server = (struct server){ .port = port, .password = password };
    make_folder(server);
    server_restart(server);
}

void server_start_tls(struct server *server, int port, const char *name)
{
    char command[400];

    *server = (struct server){ .port = port, .tls_name = name };
    make_folder(server);
    snprintf(command, sizeof(command),
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
             "-nodes -days 1 -subj /CN=quern-test -addext subjectAltName=%s "
             "-keyout %s/key.pem -out %s/cert.pem 2>/dev/null",
             name, server->folder, server->folder);
    if (system(command) != 0)
        die("openssl");
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
    static const char *const names[] = { "redis.sock", "cert.pem", "key.pem" };
    char path[128];

    server_kill(server);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", server->folder, names[i]);
        unlink(path);
    }
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
