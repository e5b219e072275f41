/* wait_notice.h - who follows a job is told what holds it up: a paused queue, a
 * spent budget, an endpoint that is left alone, a queue that nobody serves. */
#ifndef PRODUCER_CLI_WAIT_NOTICE_H
#define PRODUCER_CLI_WAIT_NOTICE_H

#include "producer/cli/cli.h"
#include "schemas/message/event.h"

struct wait_notice {
    bool heard;         /* an event of it, or that nobody may say more */
    bool running;       /* nothing does, then */
    bool refused;       /* this login may not ask */
    unsigned int looks; /* since the last event */
    unsigned int said;  /* causes, of enum cause */
};

/* One more event of the job. shown: the person has seen it. */
void wait_notice_heed(struct wait_notice *notice, const struct event *event,
                      bool shown);

/* There was no event for WAIT_NOTICE_LOOK_MS: asks now and then what the job
 * waits for. Each cause is said once, on a terminal also that nobody serves the
 * queue; with --json: {"type": "held", "why"} among the events. A login that
 * may not ask, and has heard of no event, is told so: there may be no such job.
 */
enum { WAIT_NOTICE_LOOK_MS = 200 };
void wait_notice_look(struct wait_notice *notice, struct app *app,
                      const char *id);

#endif
