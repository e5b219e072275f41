/* arguments.h - a tool call's arguments, however they are written.
 *
 * Models write: a JSON object in a string, the object itself, a string inside
 * a string, an object in a Markdown fence, JSON with bare newlines, or just
 * the code. All of them mean one thing. */
#ifndef CONSUMER_ARGUMENTS_H
#define CONSUMER_ARGUMENTS_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

/* Appends to out the text member called name of the object. raw: arguments that
 * are not JSON at all are taken for that member. Error: bad_field, with a
 * sentence that the model can act on. */
bool arguments_text(struct view arguments, const char *name, bool raw,
                    struct buf *out, struct err *err);

/* Appends to out the object that the arguments mean, as JSON; byte for byte, if
 * they are one. text: the member that a text alone stands for; NULL: none. No
 * arguments at all mean an empty object. Error: bad_field. err may be NULL. */
bool arguments_object(struct view arguments, const char *text, struct buf *out,
                      struct err *err);

#endif
