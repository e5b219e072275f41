/* observation.h - what a model is shown of a cell.
 *
 * All that it needs for its next step and nothing more: what was printed, the
 * value, the traceback, the names of images and files, and what became of the
 * session's variables. At most MAX_OBSERVATION_BYTES of UTF-8; it says how much
 * was left out. */
#ifndef CONSUMER_OBSERVATION_H
#define CONSUMER_OBSERVATION_H

#include "schemas/message/journal.h"
#include "schemas/message/limits.h"

/* Initializes out. Reads cell, images and emptied of the record. */
void observation_write(struct buf *out, const struct record *record);

/* Appends to out the JSON value that another tool gave: a text as it is,
 * anything else as JSON, and "(nothing)" for null and an empty text. */
void observation_of_value(struct buf *out, struct view value);

#endif
