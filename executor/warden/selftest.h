/* selftest.h - before anybody is served: does it work, and do the walls hold?
 *
 * It opens a session as a consumer would, and runs cells in it: some that must
 * work, then attacks that must not. A kernel or a container that ignores a wall
 * is noticed here, before any code of others runs. */
#ifndef EXECUTOR_WARDEN_SELFTEST_H
#define EXECUTOR_WARDEN_SELFTEST_H

#include "executor/warden/sessions.h"

struct selftest;

/* on_end comes once, from the loop; err is NULL when all went well, else it
 * says what did not. print: a line to stdout for each cell. */
struct selftest *
selftest_new(struct sessions *sessions, bool print,
             void (*on_end)(void *owner, const struct err *err), void *owner);
void selftest_free(struct selftest *selftest); /* accepts NULL */

#endif
