/* prompt.h - what every model is told before anything else. */
#ifndef CONSUMER_PROMPT_H
#define CONSUMER_PROMPT_H

#include "schemas/message/buf.h"
#include "schemas/message/job.h"

/* Initializes out. own: the system message of the job; may be empty. */
void prompt_write(struct buf *out, const struct job *job, struct view own);

/* What the model is told when its reply was cut inside a tool call. */
extern const char prompt_cut[];

#endif
