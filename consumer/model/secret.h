/* secret.h - what must not be told. */
#ifndef CONSUMER_SECRET_H
#define CONSUMER_SECRET_H

#include <jansson.h>

#include "schemas/message/view.h"

/* Endpoints repeat what they were sent: each place where text has the secret is
 * starred out, and its end, where a sentence was cut, when the secret begins
 * so. secret: NULL or "" is none. */
void secret_hide(char *text, const char *secret);

/* A header, or a parameter of a query, of that name carries a key. */
bool secret_is_named(const char *name);

/* As secret_hide(), each value of the query of a URL that is named so: as it
 * stands there, and as it was before it was escaped. NULL: there is none. */
void secret_hide_query(char *text, const char *query);

/* In place, a value of a query as it was before it was escaped: %41 is A. */
void secret_unescape(char *text);

/* An answer that a server repeats a secret in: value itself, or a copy of it
 * with the secret starred out in texts, in names of members, and in numbers
 * that hold it, which are texts then. value: taken; body: its bytes, which may
 * have more (a member twice). secrets: NULL, or up to a NULL. What is shorter
 * than SECRET_LEAST bytes would star out what is no secret, and is left. */
enum { SECRET_LEAST = 4 };
json_t *secret_mask_json(json_t *value, struct view body, char *const *secrets);

#endif
