/* schema.h - does a value fit a JSON Schema, as far as we know that language?
 *
 * What a schema may say: type, enum, const; properties, required,
 * additionalProperties; items, minItems, maxItems; minLength, maxLength;
 * minimum, maximum, exclusiveMinimum, exclusiveMaximum; anyOf; $ref to
 * #/$defs/NAME or
 * #/definitions/NAME; and what only tells people something. All else is refused
 * by its name when the schema is looked at: what is not checked is not
 * promised.
 *
 * Schemas and values come from whoever: depth and work are bounded. */
#ifndef CONSUMER_SCHEMA_H
#define CONSUMER_SCHEMA_H

#include <jansson.h>

#include "schemas/message/err.h"

enum {
    MAX_SCHEMA_BYTES = 32 << 10, /* it is told to the model each time */
    MAX_SCHEMA_DEPTH = 64,       /* of the schema, and of a value */
    MAX_SCHEMA_STEPS = 1 << 17,  /* to check one value */
};

/* Error: bad_field, "$.properties.a.pattern: is not known; there are ...". */
bool schema_check(const json_t *schema, struct err *err);

/* schema_fit.c: of one that was looked at. Error: bad_output,
 * "$.items[2].price: is "x", must be a number". */
bool schema_fits(const json_t *schema, const json_t *value, struct err *err);

#endif
