/* output_schema.h - whether a value fits a JSON Schema, in the part of that
 * language that quern knows.
 *
 * A schema may have: type, enum, const; properties, required,
 * additionalProperties; items, minItems, maxItems; minLength, maxLength;
 * minimum, maximum, exclusiveMinimum, exclusiveMaximum; anyOf; $ref to
 * #/$defs/NAME or #/definitions/NAME; and words that only tell people and
 * models something, of which format is one. output_schema_check() refuses any
 * other word by its name, so that nothing is promised which is not checked.
 *
 * Schemas and values come from strangers: depth and work are bounded. */
#ifndef SCHEMAS_JSON_OUTPUT_SCHEMA_H
#define SCHEMAS_JSON_OUTPUT_SCHEMA_H

#include <jansson.h>
#include <msgpack.h>

#include "schemas/message/err.h"

enum {
    MAX_SCHEMA_BYTES = 32 << 10, /* each request has it in its instructions */
    MAX_SCHEMA_DEPTH = 64,       /* of the schema, and of a value */
    MAX_SCHEMA_STEPS = 1 << 17,  /* to check one value */
};

/* Whether it is a schema of that part. Error: bad_field,
 * "$.properties.a.pattern: is not known; there are ...". */
bool output_schema_check(const json_t *schema, struct err *err);
/* The output_schema of a job, checked: a new reference. NULL: as above, with
 * the member's name before the sentence. */
json_t *output_schema_read(const msgpack_object *value, struct err *err);

/* The schema must have passed output_schema_check(). Error: bad_output,
 * "$.items[2].price: is "x", must be a number"; also when the check takes more
 * than MAX_SCHEMA_STEPS. */
bool output_schema_fits(const json_t *schema, const json_t *value,
                        struct err *err);

/* Of a name of JSON Schema's types. An integer is what JSON writes as one, so
 * that 1.0 is none; a name that JSON Schema does not know restricts nothing. */
bool json_is_of_type(const json_t *value, const char *type);

#endif
