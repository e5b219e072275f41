/* convert.h - MessagePack to JSON and back, for the edges of the system; JSON
 * to text.
 *
 * Chat messages are MessagePack inside jobs, journals and results, and JSON at
 * model endpoints and on the command line. */
#ifndef SCHEMAS_JSON_CONVERT_H
#define SCHEMAS_JSON_CONVERT_H

#include <jansson.h>

#include "schemas/message/field.h"

/* write.c: a new reference. bin becomes text when it is UTF-8, else {"base64":
 * "..."}; invalid UTF-8 in str is replaced by U+FFFD. Integers beyond 2^63-1
 * become reals. */
json_t *json_from_value(const msgpack_object *value);

/* read.c: into the arena. Integers stay integers; depth at most
 * CHECK_MAX_DEPTH. */
bool json_to_value(const json_t *json, const msgpack_object **value,
                   struct arena *arena, struct err *err);

/* write.c: a message by its table: {"v": 1, ...}, bytes as above. A new
 * reference; NULL when the message is not what its table says. */
json_t *json_from_message(const struct schema *schema, const void *message);

/* read.c: types and bounds as in message_decode_value(). v may be left out.
 * unknown, zeroed before, gets the members that are not in the table, which are
 * left out; where it is NULL they are errors. */
bool json_to_message(const struct schema *schema, const json_t *json,
                     void *message, struct arena *arena,
                     struct unknown_members *unknown, struct err *err);

/* keep.c: appends the message in bytes once more, with the members of json that
 * its table does not have. bytes: what the message that was read from json was
 * encoded to; its lists may have got more items at their ends since. So a
 * client passes on members that only a newer consumer knows. */
bool json_keep_unknown(const struct schema *schema, const json_t *json,
                       struct view bytes, struct buf *out, struct err *err);

/* text.c: appends it without spaces; any value, not only objects. False: a text
 * in it is not UTF-8, or out is full; out has a part of it then. */
bool json_add_text(struct buf *out, const json_t *json);

#endif
