/* approve.h - asks the person at the terminal about a call that waits for
 * approval, while its job is followed. */
#ifndef PRODUCER_CLI_APPROVE_H
#define PRODUCER_CLI_APPROVE_H

#include "producer/cli/cli.h"
#include "schemas/message/event.h"

/* verb_approve.c: shows the call of a job.waiting; where somebody can answer,
 * asks what is to become of it. */
void approve_on_terminal(struct app *app, const char *id,
                         const struct event_data *data);

#endif
