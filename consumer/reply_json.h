/* reply_json.h - JSON as endpoints write it: a stray byte or half a surrogate
 * pair in a text must not lose a reply that was paid for. */
#ifndef CONSUMER_REPLY_JSON_H
#define CONSUMER_REPLY_JSON_H

#include <jansson.h>

#include "schemas/message/view.h"

/* An object or a list; malformed UTF-8 and lone surrogates become U+FFFD,
 * integers beyond 64 bits reals. A new reference, or NULL. */
json_t *reply_json_parse(struct view text);

/* The text is the start of a JSON object, list or string that does not end in
 * it. Text that starts otherwise is not JSON and cannot be told. */
bool reply_json_is_cut(struct view text);

/* It starts as one of them, and that one ends in it. */
bool reply_json_is_closed(struct view text);

/* "" unless the member is a string. */
struct view reply_json_text(const json_t *object, const char *name);

#endif
