/* service.h - signals, drains and systemd: when the process takes jobs, and
 * when it leaves.
 *
 *   TSTP  claim nothing more            TERM, INT  drain, then exit; again:
 *   HUP   load the models, list MCP tools anew     hand back what runs, exit
 *   USR1  dump the state, a JSON line per attempt, to stderr
 *
 * Under systemd (NOTIFY_SOCKET) the process reports READY, STOPPING, and
 * WATCHDOG; the last one only while claiming of jobs goes on. */
#ifndef CONSUMER_SERVICE_H
#define CONSUMER_SERVICE_H

#include "consumer/consumer.h"

struct service;

struct service_events {
    /* The process leaves: close everything. Jobs may still run. */
    void (*on_exit)(struct consumer *consumer);
    void (*on_reload)(struct consumer *consumer); /* HUP */
};

/* Begins to listen to signals. Borrows the consumer. */
struct service *service_new(struct consumer *consumer,
                            struct service_events events);
/* How long a drain may take at most, in ms, until the process has left. */
uint64_t service_leave_ms(const struct consumer_settings *settings);
/* To be called once, when the consumer serves. */
void service_ready(struct service *service);
/* Operators have drained or resumed the worker (quern worker drain, resume). A
 * drain is as TERM, but with an exit status of its own, for which systemd does
 * not start the process again. It can be taken back until the jobs are handed
 * back. */
enum { SERVICE_EXIT_DRAINED = 3 };
void service_set_draining(struct service *service, bool draining);
/* The process is to leave: takes it from the fleet's list, then on_exit comes
 * from the loop. */
void service_leave(struct service *service);
void service_free(struct service *service);

#endif
