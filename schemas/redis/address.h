/* address.h - where Redis is and who we are there, from one URL.
 *
 *   redis://[user[:password]@]host[:port][/db]
 *   rediss://...                    TLS, where hiredis has it (>= 1.0)
 *   unix://[user[:password]@]/path[?db=N]   and redis+unix://, redis+socket://
 *   host:port, /path                short forms
 *
 * User and password are percent-decoded; a password without a user is
 * redis://:password@host. An empty URL means redis://127.0.0.1:6379/0. */
#ifndef SCHEMAS_REDIS_ADDRESS_H
#define SCHEMAS_REDIS_ADDRESS_H

#include "schemas/message/err.h"
#include "schemas/message/view.h"

struct address {
    char *path; /* unix socket, or NULL */
    char *host;
    int port;
    bool tls;
    char *user;
    char *password;
    int db;
};

/* Error: bad_setting. rediss:// without TLS in hiredis is refused in a sentence
 * that says what to install or use instead. */
bool address_parse(struct address *address, struct view url, struct err *err);
void address_copy(struct address *to, const struct address *from);
void address_finish(struct address *address);

/* For people and logs: never the password. */
void address_print(const struct address *address, char *text, size_t size);

#endif
