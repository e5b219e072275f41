/* show.h - two JSON values, and where they differ first, for people to read. */
#ifndef CONSUMER_SHOW_H
#define CONSUMER_SHOW_H

#include <jansson.h>

#include "schemas/message/buf.h"

/* Appends it as lines: a member or an item each, texts of several lines as
 * these, indented. */
void show_json(struct buf *out, const json_t *json);

/* Appends the first place in which two texts differ as a unified diff of one
 * hunk; nothing when they are the same. */
void show_diff(struct buf *out, struct view before, struct view after);

#endif
