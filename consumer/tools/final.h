/* final.h - final_answer(): in CodeAct mode code ends the job with a value.
 *
 * A tool like others, so that a call of it is in the journal: what it is given
 * is what it gives back, and the conversation takes that as the answer when
 * the cell has come to its end without an error. */
#ifndef CONSUMER_FINAL_H
#define CONSUMER_FINAL_H

#include "consumer/tools/catalog.h"

#define TOOL_FINAL "final_answer"

/* Adds it, whatever names a job gives. Error: bad_setting, there is a tool of
 * that name. */
bool final_add(struct catalog *catalog, struct err *err);

#endif
