/* chat_links.h - what code has made, as links in the Markdown of a chat.
 *
 * A chat has no other place for files: images stand as ![name](url) where their
 * code ran, other files as [name](url) at the end. */
#ifndef PRODUCER_GATEWAY_CHAT_LINKS_H
#define PRODUCER_GATEWAY_CHAT_LINKS_H

#include "producer/gateway/responses/wire_item.h"
#include "schemas/message/buf.h"

#define CHAT_BETWEEN "\n\n" /* two texts, or links */
/* Behind a text of a stream that the model has begun anew. */
#define CHAT_VOID "\n\n*(The text above broke off and begins again.)*\n\n"

/* The images of a code_interpreter_call, one behind the other. */
void chat_add_images(struct buf *text, const json_t *item);

/* Files of the result that are linked already: a bit for each. */
typedef uint64_t chat_linked;

/* Appends a text of the model. Where it links to a file of the result, as
 * "](sandbox:/mnt/data/NAME)" or without "sandbox:", the link gets the file's
 * URL. result: NULL: it is not known. */
chat_linked chat_add_text(struct buf *text, const struct wire_job *job,
                          const struct result *result, struct view part);

/* Appends links to all files of the result that are not linked yet. */
void chat_add_files(struct buf *text, const struct wire_job *job,
                    const struct result *result, chat_linked linked);

#endif
