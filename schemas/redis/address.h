/* address.h - where Redis is, and the login there, read from one URL.
 *
 *   redis://[user[:password]@]host[:port][/db]
 *   unix://[user[:password]@]/path[?db=N]   and redis+unix://, redis+socket://
 *   redis+sentinel://[user[:password]@]host[:port],.../master[/db]
 *   redis+cluster://[user[:password]@]host[:port],...
 *   rediss://, rediss+sentinel://, rediss+cluster://
 *                                   TLS, where hiredis has it (>= 1.0)
 *   host:port, /path                short forms
 *
 * User and password are percent-decoded; a password without a user is
 * redis://:password@host. An empty URL means redis://127.0.0.1:6379/0. The
 * hosts of a Sentinel URL are sentinels, those of a Cluster URL any nodes. One
 * is enough; with several, one may be lost. */
#ifndef SCHEMAS_REDIS_ADDRESS_H
#define SCHEMAS_REDIS_ADDRESS_H

#include <stdint.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { NODE_MAX_HOST = 253, ADDRESS_MAX_NODES = 32, ADDRESS_MAX_MASTER = 127 };

/* What TLS goes by, beside the URL. Each may be NULL. */
struct address_tls {
    char *ca; /* file of the certificates that sign the server's; NULL: those
                 that this machine trusts */
    char *certificate, *key; /* files, both or none: what this program shows to
                                a server that asks for it (tls-auth-clients) */
    char *server_name; /* that the server's certificate must have; NULL: the
                          host's */
};

enum address_kind { ADDRESS_SERVER, ADDRESS_SENTINEL, ADDRESS_CLUSTER };

struct node {
    char host[NODE_MAX_HOST + 1];
    int port;
};

/* Owns its texts and nodes: made by address_parse() or a copy below, given back
 * by address_finish(), which overwrites the passwords. */
struct address {
    enum address_kind kind;
    char *path;         /* of a unix socket: nodes has one empty node then; or
                           NULL */
    struct node *nodes; /* one server, or the hosts of a Sentinel or Cluster
                           URL */
    size_t node_count;
    char *master; /* the name that sentinels have for their master; or NULL */
    bool tls;
    struct address_tls files; /* address_set_tls() */
    char *user;               /* NULL: the default user */
    char *password;           /* NULL: no AUTH is sent */
    char *sentinel_password;  /* of the sentinels; no URL has it. NULL: none */
    int db;
};

/* Fills *address; when it fails there is nothing to finish. Error: bad_setting,
 * in a sentence that names the part that is wrong. rediss:// without TLS in
 * hiredis is refused in a sentence that says what to use instead. */
bool address_parse(struct address *address, struct view url, struct err *err);
/* Whether address_parse() takes it: for a setting's row. */
bool address_check(const char *url, struct err *err);
/* Copies the names; an empty one is none. The files are read when a connection
 * is made, so one that was replaced is used from the next connection on. Error:
 * bad_setting: one of certificate and key is missing, or the URL speaks no TLS,
 * so nothing would be encrypted. */
bool address_set_tls(struct address *address, const struct address_tls *given,
                     struct err *err);
/* Whether the files can be used now: for a service that starts. Error:
 * bad_setting, in a sentence that names the file and what is wrong with it. */
bool address_check_tls(const struct address *address, struct err *err);
/* What stands in the environment, QUERN_REDIS_TLS_CA and so on; borrowed from
 * there. For programs without a table of settings. */
struct address_tls address_tls_of_environment(void);
/* NULL or empty: none. */
void address_set_sentinel_password(struct address *address,
                                   const char *password);
/* Makes *to the address of the sentinels themselves, any of which will do.
 * False: from has none, and *to owns nothing. */
bool address_of_sentinels(struct address *to, const struct address *from);
void address_copy(struct address *to, const struct address *from);
/* A copy without user and password. */
void address_without_login(struct address *to, const struct address *from);
void address_finish(struct address *address);

/* For people and logs: never the password. */
void address_print(const struct address *address, char *text, size_t size);

/* Copies host and port into *node. False: they are no host or no port. */
bool node_set(struct node *node, struct view host, uint64_t port);
void node_print(const struct node *node, char *text, size_t size);

#endif
