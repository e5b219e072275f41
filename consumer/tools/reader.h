/* reader.h - quern-reader: one document or expression, read by a process of
 * its own (consumer/reader/main.c). */
#ifndef CONSUMER_READER_H
#define CONSUMER_READER_H

#include "consumer/reader/document.h"
#include "consumer/tools/tool_host.h"

enum { MAX_READERS = 4 };

/* Where it is: beside this program, as in the build tree, or where it is
 * installed. free() it; NULL: nowhere. */
char *reader_find(void);

/* json: as document_read() writes it, checked; borrowed. */
typedef void reader_done(void *owner, struct view json, const struct err *why);

/* Copies the document; it is read when fewer than MAX_READERS are. done comes
 * once, from the loop, never from inside here; then the reader is gone. */
struct reader *reader_start(struct tool_host *host,
                            const struct document *document, reader_done *done,
                            void *owner);
/* Accepts NULL; done does not come. */
void reader_cancel(struct reader *reader);

#endif
