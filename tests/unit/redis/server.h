/* server.h - a redis-server of our own for a C test.
 *
 * On a unix socket in a temporary folder, and on a loopback port when one is
 * given; without persistence. The kernel ends it when the test dies. */
#ifndef TESTS_UNIT_REDIS_SERVER_H
#define TESTS_UNIT_REDIS_SERVER_H

#include <sys/types.h>

struct server {
    char folder[64];
    char socket[96];
    char url[112]; /* unix://... */
    int port;      /* 0: none */
    const char *password;
    const char *tls_name; /* port speaks TLS, as this; NULL: plain */
    pid_t pid;
};

/* Returns when it answers. password may be NULL. */
void server_start(struct server *server, int port, const char *password);
/* With a certificate that nobody vouches for, <folder>/cert.pem, whose subject
 * is name: "IP:127.0.0.1", "DNS:localhost". */
void server_start_tls(struct server *server, int port, const char *name);
void server_kill(struct server *server);    /* as a crash would */
void server_restart(struct server *server); /* after a kill; memory is gone */
void server_stop(struct server *server);    /* and removes its folder */

/* A loopback port that nobody listens on just now. */
int free_port(void);

#endif
