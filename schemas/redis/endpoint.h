/* endpoint.h - how model endpoints are called in the keys of the fleet, where
 * consumers write what they learn of them and count, and operators read it.
 *
 *   endpoints  hash        "<id> <fact>": "1"; "<id> window": tokens
 *   waits      sorted set  <id>, by until when it wants to be left alone, in ms
 *                          since 1970 by Redis's clock
 *   counts     hash        "<id> <count>": a number; "<id> <note>": what it is,
 *                          and how it was last
 *
 * An id is "NAME#0123456789abcdef": the name that jobs give it, at most 64
 * bytes, and digits of a hash of name, URL, model and dialect. Names may have
 * spaces and "#"; facts and counts have none. Facts are words of the consumer's
 * (consumer/model/endpoint.h): who does not know one passes over it. */
#ifndef SCHEMAS_REDIS_ENDPOINT_H
#define SCHEMAS_REDIS_ENDPOINT_H

#include <stdbool.h>

#include "schemas/message/view.h"

enum {
    ENDPOINT_NAME_BYTES = 64,
    ENDPOINT_DIGITS = 16,
    ENDPOINT_ID_BYTES = ENDPOINT_NAME_BYTES + 1 + ENDPOINT_DIGITS,
    ENDPOINT_FIELD_BYTES = ENDPOINT_ID_BYTES + 32,
};

struct endpoint_id {
    char text[ENDPOINT_ID_BYTES + 1];
};
struct endpoint_field {
    char text[ENDPOINT_FIELD_BYTES + 1];
};

enum endpoint_count {
    COUNT_CALLS,      /* requests */
    COUNT_PAID_TWICE, /* made again, though the one before may be charged for */
    COUNT_RECOVERED,  /* replies that were fetched, and so not */
    COUNT_FAILURES,   /* requests that no reply came of */
    ENDPOINT_COUNTS,
};
extern const char *const endpoint_count_names[ENDPOINT_COUNTS];
/* What is kept beside them, the latest of each. */
enum endpoint_note {
    NOTE_HOST,        /* of its URL, with the port where that says one */
    NOTE_MODEL,       /* what it calls the model */
    NOTE_ANSWERED_AT, /* ms since 1970, by Redis's clock */
    NOTE_FAILED_AT,
    NOTE_ERROR_CODE, /* of that failure */
    NOTE_ERROR,      /* its sentence */
    ENDPOINT_NOTES,
};
extern const char *const endpoint_note_names[ENDPOINT_NOTES];
/* The fact that is no flag. */
#define ENDPOINT_WINDOW "window"

/* hash: at least ENDPOINT_DIGITS hexadecimal digits; the name is cut. */
struct endpoint_id endpoint_id_make(struct view name, const char *hash);
/* False: that is none. */
bool endpoint_id_read(struct view id, struct view *name);

struct endpoint_field endpoint_field_make(const struct endpoint_id *id,
                                          const char *word);
/* False: there is no word in it. The id may be none. */
bool endpoint_field_read(struct view field, struct view *id, struct view *word);

#endif
