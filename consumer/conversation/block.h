/* block.h - the code of a block in a message, as it is run.
 *
 * Lines end with \n. What is taken off: empty lines at both ends; the
 * indentation of the first line, from all lines that have it; prompts (>>> and
 * ...), with the output that stands between them; and marks inside the marks: a
 * fence in tags, tags in a fence. */
#ifndef CONSUMER_BLOCK_H
#define CONSUMER_BLOCK_H

#include "schemas/message/buf.h"

/* Appends the code, behind an empty line when out is not empty: at most
 * body.len + 2 bytes. body: what stands between a block's marks. It must be a
 * part of the text, because the byte before it is read. */
void block_add(struct buf *out, struct view body);

#endif
