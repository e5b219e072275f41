/* schema.h - a message's table as JSON Schema (draft 2020-12).
 *
 * So programs in other languages, and readers of the gateway's OpenAPI
 * document, get the same bounds that quern checks. */
#ifndef SCHEMAS_JSON_SCHEMA_H
#define SCHEMAS_JSON_SCHEMA_H

#include <jansson.h>

#include "schemas/message/field.h"

/* The whole schema, with what it refers to in its "$defs": a new reference. */
json_t *json_schema(const struct schema *schema);

#endif
