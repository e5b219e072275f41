/* service.h - what the outside world says to the process, and is told.
 *
 *   TSTP  claim nothing more            TERM, INT  drain, then exit; again:
 *   HUP   load the models, list MCP tools anew     hand back what runs, exit
 *   USR1  dump the state, a JSON line per attempt, to stderr
 *
 * Under systemd (NOTIFY_SOCKET) it is told READY, STOPPING, and WATCHDOG: fed
 * only while the loop of claiming turns. */
#ifndef CONSUMER_SERVICE_H
#define CONSUMER_SERVICE_H

#include "consumer/consumer.h"

struct service;

struct service_events {
    /* Nothing runs any more, or nothing may: close everything. */
    void (*on_exit)(struct consumer *consumer);
    void (*on_reload)(struct consumer *consumer); /* HUP */
};

struct service *service_new(struct consumer *consumer,
                            struct service_events events);
void service_ready(struct service *service);
/* What operators wish, by quern worker drain and resume: as TERM, with an exit
 * status of its own, so that nothing starts it again; until it has left it may
 * be taken back. */
enum { SERVICE_EXIT_DRAINED = 3 };
void service_set_draining(struct service *service, bool draining);
/* From the loop, soon: on_exit. */
void service_leave(struct service *service);
void service_free(struct service *service);

#endif
