/* reader.h - a process of its own that reads a document.
 *
 * A document from the web is as hostile as it likes, and what reads it large:
 * it is done by this program in another process, which has no key, no socket,
 * an empty environment, and bounds of time and memory that the kernel keeps.
 *
 *   consumer --"kind offset cut\ntype\nurl\nbytes"--> reader --JSON-->
 * consumer */
#ifndef CONSUMER_READER_H
#define CONSUMER_READER_H

#include <uv.h>

#include "consumer/tools/document.h"

/* The one argument with which this program is a reader. */
#define READER_FLAG "--read-document"

struct reader;

/* json: as document_read() writes it, checked; borrowed. */
typedef void reader_done(void *owner, struct view json, const struct err *why);

/* Copies the document. done comes once, from the loop, never from inside here;
 * then the reader is gone. */
struct reader *reader_start(uv_loop_t *loop, const struct document *document,
                            reader_done *done, void *owner);
/* Accepts NULL; done does not come. */
void reader_cancel(struct reader *reader);

/* The process itself: its exit code. */
int reader_main(void);

#endif
