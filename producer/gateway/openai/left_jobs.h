/* left_jobs.h - jobs whose client went away before the answer.
 *
 * Nobody else can read a response that is not in the background, so its job is
 * cancelled; but only after --foreground-grace: a client whose connection broke
 * repeats its request (repeats.h), and is given the same job. Who sends an
 * Idempotency-Key comes back for the answer: its job goes on. */
#ifndef PRODUCER_GATEWAY_LEFT_JOBS_H
#define PRODUCER_GATEWAY_LEFT_JOBS_H

#include "producer/gateway/openai/repeats.h"

struct left_jobs *left_jobs_new(struct gateway *gateway);
/* Jobs that are still left go on. Accepts NULL. */
void left_jobs_free(struct left_jobs *jobs);

/* Copies repeat. The job may never have been submitted. jobs: NULL: the gateway
 * ends, and nothing is done. */
void left_jobs_add(struct left_jobs *jobs, struct view job,
                   const struct repeat *repeat);

#endif
