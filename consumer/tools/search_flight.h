/* search_flight.h - one request to a search provider, for all who wait for it.
 */
#ifndef CONSUMER_SEARCH_FLIGHT_H
#define CONSUMER_SEARCH_FLIGHT_H

#include "consumer/tools/search_provider.h"
#include "consumer/tools/tool_host.h"

/* A provider that is set up. */
struct search_source {
    const struct search_provider *provider;
    char *base;   /* of its URL */
    char *header; /* with its key, or NULL */
    char *key;    /* "": none */
};

struct search_flight;

/* Of all calls of the tool. */
struct search_flights {
    struct search_flight *first;
};

/* json: {"query", "provider", "results", "answer"?}, or why there is none.
 * Waiters may come and go from inside. */
typedef void search_landed(void *owner, struct view json,
                           const struct err *why);

struct search_waiter {
    struct search_waiter *next;
    struct search_flight *flight; /* NULL: it waits for none */
    search_landed *landed;
    void *owner;
};

/* Joins the one that is under way, or starts one. landed comes from the loop,
 * never from inside here; then nothing is waited for. */
void search_flight_join(struct search_flights *flights, struct tool_host *host,
                        const struct search_source *source, const char *query,
                        int count, struct search_waiter *waiter);

/* Waits no more; a flight that nobody waits for is cancelled. */
void search_flight_leave(struct search_waiter *waiter);

#endif
