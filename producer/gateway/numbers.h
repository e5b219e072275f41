/* numbers.h - --metrics: what the gateway counts of itself, and the numbers of
 * the whole fleet, for those who watch.
 *
 *   listener ──/metrics──▶ the gateway's own, counted on the loop
 *                          the fleet's, as gathered last
 *                                ▲
 *     every 10 s, and after a scrape: a job of work (threads) asks Redis
 *
 * A scrape never waits for Redis. The fleet is asked at most once a second,
 * however many scrape. When Redis cannot be asked, or has not answered for
 * longer than NUMBERS_STALE_MS, the fleet's numbers are left out:
 * collect_errors_total tells. */
#ifndef PRODUCER_GATEWAY_NUMBERS_H
#define PRODUCER_GATEWAY_NUMBERS_H

#include "producer/gateway/api_request.h"
#include "producer/gateway/gateway.h"

enum {
    NUMBERS_EVERY_MS = 10000,
    NUMBERS_LEAST_MS = 1000,
    NUMBERS_STALE_MS = 30000,
};

struct numbers;

/* NULL when no --metrics is set; false with err when it cannot listen there. */
bool numbers_open(struct gateway *gateway, struct numbers **numbers,
                  struct err *err);
void numbers_close(struct numbers *numbers); /* accepts NULL */

/* A request is answered, or a stream begun; status 0: its peer has gone. Counts
 * only after numbers_open(). */
void numbers_count_request(const struct api_request *request,
                           unsigned int status);

#endif
