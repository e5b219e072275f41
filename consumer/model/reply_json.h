/* reply_json.h - reads JSON as endpoints write it. A stray byte or half a
 * surrogate pair in a text must not lose a reply that was paid for. */
#ifndef CONSUMER_REPLY_JSON_H
#define CONSUMER_REPLY_JSON_H

#include <jansson.h>

#include "schemas/message/view.h"

/* Parses an object or a list. Malformed UTF-8 and lone surrogates become
 * U+FFFD, integers beyond 64 bits become reals. A new reference; NULL: it is no
 * JSON. */
json_t *reply_json_parse(struct view text);

/* The text of a member, borrowed from the object; "" unless it is a string. */
struct view reply_json_text(const json_t *object, const char *name);

#endif
