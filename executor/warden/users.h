/* users.h - a user id of its own for each box.
 *
 * The kernel counts some things for each user of the host: descriptors on their
 * way through sockets, pages of pipes, pending signals, keys. Boxes that share
 * a user can use these up for each other. So before the warden becomes an
 * ordinary user it makes one user namespace, the pool, into which a range of
 * ids is mapped, each as itself. A process in the pool may become any of these
 * ids and no other. The warden's user owns the pool: so it may enter it, and
 * signal and measure the processes in boxes, without any capability over the
 * host.
 *
 *   host: root, or CAP_SETUID, or newuidmap    writes the pool's map, once
 *     `- pool: 1900000000 ... 1900000511       quern-box enters it, once a box
 *          `- box: 1000 is 1900000042          made as that user
 *
 * An id is lent to one box at a time, and taken back when nothing of the box
 * lives. Executors of one host take blocks of the range; each block belongs to
 * one of them. */
#ifndef EXECUTOR_WARDEN_USERS_H
#define EXECUTOR_WARDEN_USERS_H

#include "executor/warden/settings.h"
#include "executor/warden/socket.h"

struct users;

/* Before user_drop(). Never NULL: where there can be no pool, users_count() is
 * 0 and users_lack() says why. False: a range was demanded and is not to be
 * had. */
bool users_open(struct users **users, const struct executor_settings *settings,
                struct user_ids ids, struct err *err);
void users_free(struct users *users); /* accepts NULL */

size_t users_count(const struct users *users);
const char *users_lack(const struct users *users);
/* index: below users_count(). */
uid_t users_at(const struct users *users, size_t index);
/* The pool's user namespace; -1: there is none. */
int users_pool(const struct users *users);

/* False: all are lent. *id is 0 where there is no pool: the box then has the
 * warden's user. */
bool users_take(struct users *users, uid_t *id);
/* ended: nothing of its box lives. If that is not sure (false), the id is lent
 * again only when no process has it any more. id 0 is ignored. */
void users_return(struct users *users, uid_t id, bool ended);

#endif
