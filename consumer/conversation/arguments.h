/* arguments.h - a tool call's arguments, however they are written.
 *
 * Models write: a JSON object in a string, the object itself, a string inside
 * a string, an object in a Markdown fence, JSON with bare newlines, or just
 * the code. All of them mean one thing. */
#ifndef CONSUMER_ARGUMENTS_H
#define CONSUMER_ARGUMENTS_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

/* The text member called name of an object, appended to out. raw: when the
 * arguments are no JSON at all they are that member themselves. Error:
 * bad_field, a sentence that the model can act on. */
bool arguments_text(struct view arguments, const char *name, bool raw,
                    struct buf *out, struct err *err);

/* The object that they mean, as JSON, appended to out; as it stands when it is
 * one. text: the argument that a text alone is; NULL: there is none. No
 * arguments at all are an empty object. Error: bad_field. */
bool arguments_object(struct view arguments, const char *text, struct buf *out,
                      struct err *err);

#endif
