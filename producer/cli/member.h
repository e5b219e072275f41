/* member.h - an option that is a member of a job (OPTION_MEMBER): its type,
 * range and sentence from the table of jobs, and its place in the job's JSON.
 */
#ifndef PRODUCER_CLI_MEMBER_H
#define PRODUCER_CLI_MEMBER_H

#include "producer/cli/option.h"
#include "schemas/message/buf.h"
#include "schemas/message/field.h"

/* The row of option->member in the table of jobs. */
const struct field *member_field(const struct option *option);
enum option_type member_type(const struct option *option);
/* TIME, WORD, ...: what help calls a value of that type; NULL: a flag has none.
 */
const char *member_value(enum option_type type);
/* The row's sentence as help has it: "longest run of one cell: 90s, 5m, 2h". */
void member_describe(const struct option *option, struct buf *out);

/* Sets the member in *members, a JSON object that is made when it is NULL; to a
 * list it adds an item. Takes value. NULL as value is an error: jansson makes
 * no string of a text that is not UTF-8. Errors: bad_field, bad_setting. */
bool member_set(json_t **members, const struct option *option, json_t *value,
                struct err *err);

#endif
