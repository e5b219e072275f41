/* attempts.h - the functions of job/ that the queue calls. main.c puts them
 * into the consumer, so that files of queue/ need not include job/. */
#ifndef CONSUMER_JOB_ATTEMPTS_H
#define CONSUMER_JOB_ATTEMPTS_H

#include "consumer/queue/jobs.h"

extern const struct jobs attempts;

#endif
