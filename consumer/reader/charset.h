/* charset.h - bytes of a document, whatever their encoding, as UTF-8. */
#ifndef CONSUMER_CHARSET_H
#define CONSUMER_CHARSET_H

#include "schemas/message/buf.h"

/* Appends them, with U+FFFD for what is no character. What they are in is said
 * by, in this order: a byte order mark; type, the Content-Type ("": none); when
 * is_html, the meta element in the first 1024 bytes; else they are UTF-8, or,
 * when they are not well-formed, windows-1252. As browsers do, names of small
 * sets mean the larger one that pages really use, and others are not known. */
void charset_decode(struct view bytes, const char *type, bool is_html,
                    struct buf *out);

#endif
