/* entry.h - what is said of a tool, or of a server, in the operator's file:
 * members that are like those of others, and what is wrong with them. */
#ifndef CONSUMER_ENTRY_H
#define CONSUMER_ENTRY_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/err.h"

enum { ENTRY_MOST_NAME = 64 }; /* as models take it */

/* These two return false. "method: is "PUT", must be GET or POST" */
bool entry_bad(struct err *err, const char *sentence);
bool entry_bad_value(struct err *err, const char *member, const json_t *value,
                     const char *must);

/* What models take as the name of a function, and Python can. */
bool entry_name_is_good(const char *name);

/* 1 to most. */
bool entry_number(uint64_t *number, const json_t *value, json_int_t most,
                  const char *member, struct err *err);

/* http or https, a server, no fragment, nothing that must be escaped. */
bool entry_check_url(const char *url, struct err *err);

#endif
