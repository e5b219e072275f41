/* reply_json.h - JSON as endpoints write it: a stray byte or half a surrogate
 * pair in a text must not lose a reply that was paid for. */
#ifndef CONSUMER_REPLY_JSON_H
#define CONSUMER_REPLY_JSON_H

#include <jansson.h>

#include "schemas/message/view.h"

/* An object or a list; malformed UTF-8 and lone surrogates become U+FFFD,
 * integers beyond 64 bits reals. A new reference, or NULL. */
json_t *reply_json_parse(struct view text);

/* How far a JSON value has come, without reading it: text that comes in pieces
 * is looked at once. A zeroed one is ready. */
struct json_shape {
    enum {
        SHAPE_NONE,   /* blanks at most */
        SHAPE_OTHER,  /* not JSON, or a bare number or word */
        SHAPE_OPEN,   /* an object, list or string that has not ended yet */
        SHAPE_CLOSED, /* it has; something may come after it */
    } is;
    size_t depth;
    bool in_string, escaped;
};

void json_shape_feed(struct json_shape *shape, struct view text);

/* "" unless the member is a string. */
struct view reply_json_text(const json_t *object, const char *name);

#endif
