/* selftest.h - before anybody is served: does it work, and do the walls hold?
 *
 * A session is opened as a consumer would, cells run in it: one that must
 * work, then attacks that must not. */
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
