/* ports.h - the product in this world: consumers, one on each host. */
#ifndef TESTS_UNIT_ATTEMPT_PORTS_H
#define TESTS_UNIT_ATTEMPT_PORTS_H

#include <hiredis/hiredis.h>

#include "tests/unit/attempt/world.h"

/* Once in a process. */
void ports_open(void);
void ports_close(void);
/* Of a new seed. */
void ports_reset(void);

/* A consumer is started; it is there when its links are. */
void host_open(int host);
/* It is killed: all that it has in memory is gone, of what it has sent a part
 * arrives. Its executor goes on. */
void host_kill(int host);
bool host_is_up(int host);
bool host_takes(int host);
/* The job, as a take has answered; frees the answer. */
void host_give(int host, redisReply *answer);
size_t host_jobs(int host);

/* It is to stop: jobs are handed back. */
void host_drain(int host);
/* The link to Redis breaks, and comes back. */
void host_break_redis(int host);
/* The link to the executor breaks, and comes back after some time. */
void host_break_executor(int host, uint64_t away_us);
/* It hears that a job is to be cancelled. */
void host_hear_cancel(int host, const char *id);
bool host_has_executor(int host);
/* What others of the host learn of the model: it wants to be left alone; it
 * does not take a parameter. */
void model_upset(void);
void model_teach(void);

/* Timers that are set, of all hosts; when the first one of a job is due:
 * UINT64_MAX, none is. */
size_t ports_timers(void);
uint64_t host_timer_us(int host);
/* Of a host without jobs: nothing may be left of them. */
void host_judge(int host);

#endif
