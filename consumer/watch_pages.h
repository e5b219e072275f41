/* watch_pages.h - shows what the consumer counts, and whether it is live and
 * ready (--metrics): /metrics, /livez, /readyz.
 *
 *   live   its loop runs: it answers. Redis is never asked, or all consumers
 *          would be started anew when Redis is away.
 *   ready  it has taken jobs, or would if there were any: it serves, Redis
 *          gives it jobs of each partition, and its executor is there.
 *
 * Numbers of the executor, which has no network, are shown beside our own: they
 * are asked for every ten seconds. */
#ifndef CONSUMER_WATCH_PAGES_H
#define CONSUMER_WATCH_PAGES_H

#include "consumer/consumer.h"

struct watch_pages;

/* Listens where --metrics says, and begins to count; *made is NULL when it says
 * nothing. Borrows the consumer, whose models and tools are loaded. Error:
 * cannot_listen, bad_setting. */
bool watch_pages_open(struct consumer *consumer, struct watch_pages **made,
                      struct err *err);
void watch_pages_close(struct watch_pages *pages); /* accepts NULL */

/* The executor has come back, or gone: asks it now for its numbers, or forgets
 * them. Accepts NULL. */
void watch_pages_heed_executor(struct watch_pages *pages);

/* Models or tools were loaded anew: their names may be labels from now on.
 * Nothing happens when nothing is counted. */
void watch_pages_learn(const struct consumer *consumer);

#endif
