/* pool.h - interpreters that are ready before anybody asks.
 *
 *   BOXING --> BORN --> READY --> (a session's)
 *      |         |        |
 *      `---------+--------'--> (gone: it died, or its zygote was renewed)
 *
 * A few of each profile that is in use stand ready: boxed, walls up, frozen. A
 * session takes one and is open. Others are made later, so that no session
 * waits for them: one at a time, and not while somebody waits for a fork. */
#ifndef EXECUTOR_WARDEN_POOL_H
#define EXECUTOR_WARDEN_POOL_H

#include "executor/warden/interpreter.h"

struct interpreter_pool;

/* The zygote of the profile that sessions have by default loads at once, the
 * others when they are first asked for. Borrows boxes. */
struct interpreter_pool *pool_new(uv_loop_t *loop,
                                  const struct executor_settings *settings,
                                  struct boxes *boxes);
/* Ends what stands ready, and makes no more. */
void pool_close(struct interpreter_pool *pool);
void pool_free(struct interpreter_pool *pool); /* accepts NULL */

/* One that is ready, with these limits from now on; the caller owns it. NULL:
 * none is ready, or none can have them (a box's quota of disk is fixed). */
struct interpreter *pool_take(struct interpreter_pool *pool,
                              enum profile profile,
                              const struct session_limits *limits);

/* How many are ready. */
size_t pool_ready(const struct interpreter_pool *pool);

/* The zygote of that profile, started if need be: for interpreters that are
 * born while a session waits. */
struct zygote *pool_zygote(struct interpreter_pool *pool, enum profile profile);

#endif
