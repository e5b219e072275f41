/* functions.h - functions of the caller, and the messages that answer their
 * calls.
 *
 * A model may call a function of a job. Quern does not run it: the job ends,
 * and its result has the calls. The caller runs them, and submits a job whose
 * messages hold the calls and, behind them, an answer to each. Inside
 * schemas/message only. */
#ifndef SCHEMAS_MESSAGE_FUNCTIONS_H
#define SCHEMAS_MESSAGE_FUNCTIONS_H

#include "schemas/message/job.h"

/* What no row of the table can say of functions, tool_choice and
 * limits.max_tool_calls: names are those that endpoints take, and differ;
 * parameters are a schema of an object; they are of a conversation in mode
 * tools. Errors: bad_field, missing_field. */
bool functions_check(const struct job *job, struct err *err);

/* Whether messages, an array of maps, answer each call of an assistant before
 * the next message of a user or an assistant, and before the end, and answer
 * nothing else. Errors: bad_field, missing_field, too_large: more than
 * MAX_MESSAGE_CALLS in one message. */
bool functions_check_answers(const msgpack_object *messages, struct err *err);

#endif
