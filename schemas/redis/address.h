/* address.h - where Redis is and who we are there, from one URL.
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
 * hosts of a Sentinel URL are sentinels, those of a Cluster URL any nodes: one
 * would do, several outlast the loss of one. */
#ifndef SCHEMAS_REDIS_ADDRESS_H
#define SCHEMAS_REDIS_ADDRESS_H

#include <stdint.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { NODE_MAX_HOST = 253, ADDRESS_MAX_NODES = 32, ADDRESS_MAX_MASTER = 127 };

enum address_kind { ADDRESS_SERVER, ADDRESS_SENTINEL, ADDRESS_CLUSTER };

struct node {
    char host[NODE_MAX_HOST + 1];
    int port;
};

struct address {
    enum address_kind kind;
    char *path;         /* unix socket, or NULL; then nodes has an empty one */
    struct node *nodes; /* one, unless it is a Sentinel's or a cluster's */
    size_t node_count;
    char *master; /* what sentinels call it, or NULL */
    bool tls;
    char *user;
    char *password;
    char *sentinel_password; /* of the sentinels; no URL has it. NULL: none */
    int db;
};

/* Error: bad_setting. rediss:// without TLS in hiredis is refused in a sentence
 * that says what to install or use instead. */
bool address_parse(struct address *address, struct view url, struct err *err);
/* NULL or empty: none. */
void address_set_sentinel_password(struct address *address,
                                   const char *password);
/* The sentinels themselves, as servers any of which will do. False: it has
 * none.
 */
bool address_of_sentinels(struct address *to, const struct address *from);
void address_copy(struct address *to, const struct address *from);
/* The same place for one who does not say who he is. */
void address_without_login(struct address *to, const struct address *from);
void address_finish(struct address *address);

/* For people and logs: never the password. */
void address_print(const struct address *address, char *text, size_t size);

/* False: what is no host, or no port. */
bool node_set(struct node *node, struct view host, uint64_t port);
void node_print(const struct node *node, char *text, size_t size);

#endif
