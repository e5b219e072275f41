/* parameters.h - the JSON Schema of a tool's arguments, as far as we read it:
 * an object, its properties, the required ones, and whether there may be
 * others (additionalProperties). */
#ifndef CONSUMER_PARAMETERS_H
#define CONSUMER_PARAMETERS_H

#include <jansson.h>

#include "schemas/message/err.h"

/* Whether this is such a schema. Error: bad_setting, with the member. */
bool parameters_check(const json_t *parameters, struct err *err);

/* Whether a call may have an argument of that name. */
bool parameters_have(const json_t *parameters, const char *name);

#endif
