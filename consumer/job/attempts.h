/* attempts.h - attempts, as the queue sees those who work on its jobs. */
#ifndef CONSUMER_JOB_ATTEMPTS_H
#define CONSUMER_JOB_ATTEMPTS_H

#include "consumer/queue/jobs.h"

extern const struct jobs attempts;

#endif
