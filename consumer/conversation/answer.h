/* answer.h - an answer that must be JSON which fits the job's output_schema.
 *
 * What a model writes around the value is left out: the answer is the whole
 * text, or the first list or object in it that fits, in a fence or not. When
 * none fits, the model is told what is wrong and asked again;
 * terms->output_repairs bounds how often. */
#ifndef CONSUMER_ANSWER_H
#define CONSUMER_ANSWER_H

#include <jansson.h>

#include "schemas/message/field.h"

/* The value in the text that fits: a new reference; NULL: none does. Error:
 * bad_output, about the whole text or the first value in it. */
json_t *answer_read(const json_t *schema, struct view text, struct err *err);
/* The same of a value that code has given to final_answer(): the value itself,
 * or, if it is a text, a value in it. */
json_t *answer_value(const json_t *schema, json_t *value, struct err *err);

/* Append to out what the instructions say of the schema, and what the model is
 * told of an answer that does not fit. */
void answer_rule(const json_t *schema, bool codeact, struct buf *out);
void answer_wrong(const struct err *why, struct buf *out);

#endif
