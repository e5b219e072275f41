/* reader.h - runs quern-reader: one document or expression, read by a process
 * of its own (consumer/reader/main.c), which is ended after it.
 *
 * At most MAX_READERS run at once, others wait in order. Each is killed after
 * 10 seconds; it bounds its own memory and processor time. */
#ifndef CONSUMER_READER_H
#define CONSUMER_READER_H

#include "consumer/reader/document.h"
#include "consumer/tools/tool_host.h"

enum { MAX_READERS = 4 };

/* The path of quern-reader: beside this program, as in the build tree, or where
 * it is installed. free() it. NULL: it is in neither place. */
char *reader_find(void);

/* json: an object as document_read() writes it, without "error"; borrowed for
 * the call. why->kind ERR_NONE: it is valid. Other kinds: not_text, the reader
 * says why; too_large, it took too much time or memory, or died. */
typedef void reader_done(void *owner, struct view json, const struct err *why);

/* Copies the document, and reads it as soon as fewer than MAX_READERS run. done
 * comes once, from the loop, never from inside here. The reader must not be
 * used from then on. */
struct reader *reader_start(struct tool_host *host,
                            const struct document *document, reader_done *done,
                            void *owner);
/* Accepts NULL. done does not come; the process is killed, and frees itself
 * when it has ended. */
void reader_cancel(struct reader *reader);

#endif
