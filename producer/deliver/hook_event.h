/* hook_event.h - what a webhook is sent: a body, and the headers that sign it
 * as Standard Webhooks has it. */
#ifndef PRODUCER_DELIVER_HOOK_EVENT_H
#define PRODUCER_DELIVER_HOOK_EVENT_H

#include "schemas/redis/hook.h"

enum {
    HOOK_EVENT_ID_BYTES = 80,
    HOOK_BODY_BYTES = 320,
    HOOK_SIGNATURE_BYTES = HOOK_SECRETS * 48,
};

struct hook_event {
    char id[HOOK_EVENT_ID_BYTES]; /* the same in each attempt; has no dot */
    char body[HOOK_BODY_BYTES];
};

/* False: the delivery's state is none that a webhook is told of. */
bool hook_event_make(struct hook_event *event,
                     const struct hook_delivery *delivery);

/* "v1,<base64>" by each secret, with spaces between. at: the time of the
 * attempt, in seconds since 1970, as the header webhook-timestamp has it. */
void hook_event_sign(char signature[HOOK_SIGNATURE_BYTES],
                     const struct hook_event *event, uint64_t at,
                     const struct hook_delivery *delivery);

#endif
