/* wait_notice.h - tells somebody who follows a job why it does not start: a
 * paused queue, a spent budget, an endpoint that is left alone, a queue that
 * nobody serves. Part of follow.c, which hands it each event and each silence.
 */
#ifndef PRODUCER_CLI_WAIT_NOTICE_H
#define PRODUCER_CLI_WAIT_NOTICE_H

#include "producer/cli/cli.h"
#include "schemas/message/event.h"

/* Zeroed at the beginning. */
struct wait_notice {
    bool heard;         /* an event has come; or the person was told that none
                           may ever come */
    bool running;       /* the job runs: nothing holds it up */
    bool refused;       /* this login may not ask: it is not asked again */
    unsigned int looks; /* calls of wait_notice_look() since the last event */
    unsigned int said;  /* causes that were told, bits of enum wait_cause */
};

/* One more event of the job has come. shown: the person has seen it, so its
 * reason is not told again. */
void wait_notice_heed(struct wait_notice *notice, const struct event *event,
                      bool shown);

/* No event has come for WAIT_NOTICE_LOOK_MS: asks Redis now and then what the
 * job waits for, and tells each cause once; that nobody serves the queue only
 * on a terminal. With --json it prints {"type": "held", "why"}. A login that
 * may not ask and has had no event is told so: there may be no such job. */
enum { WAIT_NOTICE_LOOK_MS = 200 };
void wait_notice_look(struct wait_notice *notice, struct app *app,
                      const char *id);

#endif
