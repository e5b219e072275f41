/* charset.h - converts a document of any known encoding to UTF-8. */
#ifndef CONSUMER_CHARSET_H
#define CONSUMER_CHARSET_H

#include "schemas/message/buf.h"

/* Appends the bytes as UTF-8, with U+FFFD for what is no character. The first
 * of these that is there tells their encoding: a byte order mark; type, the
 * Content-Type ("": none); when is_html, a meta element in the first 1024
 * bytes. Without any, well-formed UTF-8 is taken as such, all else as
 * windows-1252. As in browsers, the name of a small set stands for the larger
 * one that pages really use (iso-8859-1 for windows-1252), and names that are
 * not listed are ignored. */
void charset_decode(struct view bytes, const char *type, bool is_html,
                    struct buf *out);

#endif
