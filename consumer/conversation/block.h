/* block.h - the code of a block, as it is run.
 *
 * Lines end with \n. Off come: empty lines at both ends, what the first line is
 * indented by (off all that are), prompts (>>> and ...) with what stands
 * between as output, and marks inside the marks: a fence in tags, tags in a
 * fence. */
#ifndef CONSUMER_BLOCK_H
#define CONSUMER_BLOCK_H

#include "schemas/message/buf.h"

/* Appends it, behind an empty line when there is something before it. body:
 * what stands between a block's marks, in the text: the byte before it is read,
 * which a block's mark always has. At most body.len + 2 bytes. */
void block_add(struct buf *out, struct view body);

#endif
