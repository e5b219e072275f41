/* answer.h - an answer that has to be JSON of a form that the job has named.
 *
 * What a model writes around it is left out: the answer is the whole text, or
 * the first value in it that fits, in a fence or not. One that does not fit is
 * answered with what is wrong, and asked for again; how often is for the caller
 * to bound. */
#ifndef CONSUMER_ANSWER_H
#define CONSUMER_ANSWER_H

#include <jansson.h>

#include "schemas/message/field.h"

/* The job's schema: a new reference. Error: bad_field, too_large, what is wrong
 * with it. */
json_t *answer_schema(const msgpack_object *value, struct err *err);

/* The value in a text that fits: a new reference; NULL: none does. Error:
 * bad_output, of the text or of the first value in it. */
json_t *answer_read(const json_t *schema, struct view text, struct err *err);
/* Of a value that code has given: itself, or what it is the text of. */
json_t *answer_value(const json_t *schema, json_t *value, struct err *err);

/* What the model is told of the schema, in its instructions; and of an answer
 * that does not fit. */
void answer_rule(const json_t *schema, bool codeact, struct buf *out);
void answer_wrong(const struct err *why, struct buf *out);

#endif
