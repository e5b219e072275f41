/* secret.h - keeps secrets out of sentences and answers. Servers repeat what
 * they were sent; these functions replace it by stars. */
#ifndef CONSUMER_SECRET_H
#define CONSUMER_SECRET_H

#include <jansson.h>

#include "schemas/message/view.h"

/* Stars out each occurrence of the secret in text, in place. A sentence may
 * have been cut in the middle of it: an end of text with which the secret
 * begins (4 bytes or more) is starred out, too. secret: NULL or "": none. */
void secret_hide(char *text, const char *secret);

/* Whether a header, or a parameter of a query, of that name carries a key. */
bool secret_is_named(const char *name);

/* As secret_hide(), for each value of a URL's query whose name is such a one:
 * as it is in the query, and unescaped. query: NULL: none. */
void secret_hide_query(char *text, const char *query);

/* Percent-decodes a value of a query, in place: %41 becomes A. */
void secret_unescape(char *text);

/* Stars secrets out of an answer. Takes value; gives value itself when it holds
 * none, else a copy in which they are starred out in texts, in names of
 * members, and in numbers, which become texts. body: the bytes that value was
 * parsed from, which may hold more (a member twice); or empty. secrets: up to a
 * NULL; NULL: none. Secrets shorter than SECRET_LEAST bytes are ignored: they
 * would star out what is none. */
enum { SECRET_LEAST = 4 };
json_t *secret_mask_json(json_t *value, struct view body, char *const *secrets);

#endif
