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

/* A command line; the arguments are copies that die with the child. */
struct line {
    char *argv[40];
    int argc;
};

static void add(struct line *line, const char *argument)
{
    line->argv[line->argc] = strdup(argument);
    if (!line->argv[line->argc++])
        abort();
}

static void add_pair(struct line *line, const char *name, const char *value)
{
    add(line, name);
    add(line, value);
}

static void add_file(struct line *line, const char *name,
                     const struct server *server, const char *file)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", server->folder, file);
    add_pair(line, name, path);
}

static void run_line(const struct line *line)
{
    if (!freopen("/dev/null", "w", stdout))
        die("/dev/null");
    execvp(line->argv[0], line->argv);
    die(line->argv[0]);
}

static void add_tls(struct line *line, const struct server *server,
                    const char *port)
{
    add_pair(line, "--port", "0");
    add_pair(line, "--tls-port", port);
    add_file(line, "--tls-cert-file", server, "cert.pem");
    add_file(line, "--tls-key-file", server, "key.pem");
    add_file(line, "--tls-ca-cert-file", server, "cert.pem");
    add_pair(line, "--tls-auth-clients", "no");
}

static void run_server(const struct server *server)
{
    const char *program = getenv("QUERN_REDIS_SERVER"); /* Valkey, say */
    struct line line = { 0 };
    char port[16];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(port, sizeof(port), "%d", server->port);
    add(&line, program ? program : "redis-server");
    if (server->tls_name)
        add_tls(&line, server, port);
    else
        add_pair(&line, "--port", port);
    add_pair(&line, "--bind", "127.0.0.1");
    add_pair(&line, "--unixsocket", server->socket);
    add_pair(&line, "--dir", server->folder);
    add_pair(&line, "--save", "");
    add_pair(&line, "--enable-debug-command", "yes");
    if (server->password)
        add_pair(&line, "--requirepass", server->password);
    run_line(&line);
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

static void run_openssl(const struct server *server)
{
    static const char *const words[] = { "openssl",  "req",
                                         "-x509",    "-nodes",
                                         "-days",    "1",
                                         "-newkey",  "ec",
                                         "-pkeyopt", "ec_paramgen_curve:P-256",
                                         "-subj",    "/CN=quern-test",
                                         "-addext" };
    struct line line = { 0 };
    char name[128];

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        add(&line, words[i]);
    snprintf(name, sizeof(name), "subjectAltName=%s", server->tls_name);
    add(&line, name);
    add_file(&line, "-keyout", server, "key.pem");
    add_file(&line, "-out", server, "cert.pem");
    if (!freopen("/dev/null", "w", stderr))
        die("/dev/null");
    run_line(&line);
}

void server_start_tls(struct server *server, int port, const char *name)
{
    int status = 0;

    *server = (struct server){ .port = port, .tls_name = name };
    make_folder(server);
    pid_t pid = fork();
    if (pid == 0)
        run_openssl(server);
    if (waitpid(pid, &status, 0) != pid || status != 0)
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
