/* delivery.h - one delivery that this process has taken: its request, and what
 * Redis is told of it. */
#ifndef PRODUCER_DELIVER_DELIVERY_H
#define PRODUCER_DELIVER_DELIVERY_H

#include "producer/deliver/hook_event.h"
#include "producer/deliver/settings.h"
#include "schemas/http/http.h"

enum { DELIVERY_NAME_BYTES = 128 };

struct delivery {
    struct delivery *next, *previous;
    unsigned int partition;
    char name[DELIVERY_NAME_BYTES];
    char hook[HOOK_ID_BYTES + 1];
    uint64_t taken, tries;
    uint64_t lease_until; /* by the loop's clock, ms */

    struct http_call *call; /* NULL: there is no request, or it has ended */
    struct hook_event event;
    bool refused; /* its address may not be connected to */
    bool private_addresses;
    const struct deliver_retries *retries;

    bool is_over;   /* these are set: how it went */
    bool is_asking; /* Redis is being told */
    struct hook_settlement settlement;
    char why[HOOK_WHY_BYTES + 1];

    void (*over)(void *owner, struct delivery *delivery);
    void *owner;
};

/* Copies what it needs of taken. NULL: its name is too long to be one. */
struct delivery *delivery_new(const struct hook_delivery *taken,
                              const struct deliver_settings *settings);
/* Cancels its request. */
void delivery_free(struct delivery *delivery);

/* Makes the request, and calls over(owner) once, from the loop. False: there is
 * none to make, and is_over is set already. Borrows retries. */
bool delivery_send(struct delivery *delivery, struct http *http,
                   const struct hook_delivery *taken,
                   const struct deliver_settings *settings,
                   const struct deliver_retries *retries);

/* Sets how it went where no request was made. */
void delivery_put_off(struct delivery *delivery, uint64_t wait_ms);

/* A time of about that length, so that not all come at once. */
uint64_t delivery_about(uint64_t ms);

#endif
