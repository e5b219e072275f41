/* show.h - shows people where two JSON values differ first. */
#ifndef CONSUMER_SHOW_H
#define CONSUMER_SHOW_H

#include <jansson.h>

#include "schemas/message/buf.h"

/* Appends an object as indented lines: one for each member or item, and texts
 * of several lines as such. Safe to print on a terminal. */
void show_json(struct buf *out, const json_t *json);

/* Appends the first difference of two texts as a unified diff of one hunk;
 * nothing when they are the same. */
void show_diff(struct buf *out, struct view before, struct view after);

#endif
