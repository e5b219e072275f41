/* observation.h - what a model is shown of a cell.
 *
 * Everything that it needs for its next step and nothing more: what was
 * printed, the value, the traceback, the names of images and files, and the
 * truth about the session's state. At most MAX_OBSERVATION_BYTES, UTF-8; what
 * is left out is counted. */
#ifndef CONSUMER_OBSERVATION_H
#define CONSUMER_OBSERVATION_H

#include "schemas/message/journal.h"
#include "schemas/message/limits.h"

/* Initializes out. record: cell, images, emptied. */
void observation_write(struct buf *out, const struct record *record);

/* Of the JSON value that another tool gave, appended to out: a text as it is,
 * anything else as JSON; that there is nothing is said. */
void observation_of_value(struct buf *out, struct view value);

#endif
