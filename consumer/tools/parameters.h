/* parameters.h - the JSON Schema of a tool's arguments, as far as we read it:
 * an object, its properties, those that are required, and whether there may be
 * others. */
#ifndef CONSUMER_PARAMETERS_H
#define CONSUMER_PARAMETERS_H

#include <jansson.h>

#include "schemas/message/err.h"

/* Error: bad_setting, with the member. */
bool parameters_check(const json_t *parameters, struct err *err);

bool parameters_have(const json_t *parameters, const char *name);

#endif
