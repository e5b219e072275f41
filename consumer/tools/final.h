/* final.h - final_answer(): in CodeAct mode code ends the job with a value.
 *
 * It is a tool as others are, so that a call of it is in the journal. It gives
 * back its argument, which the conversation takes as the job's answer once the
 * cell has ended without an error. */
#ifndef CONSUMER_FINAL_H
#define CONSUMER_FINAL_H

#include "consumer/tools/catalog.h"

#define TOOL_FINAL "final_answer"

/* Adds it to the catalog, for all jobs, whatever tools they name. Error:
 * bad_setting, there is a tool of that name. */
bool final_add(struct catalog *catalog, struct err *err);

#endif
