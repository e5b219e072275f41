/* glyph.h - prints foreign text so that a reader sees every character of it.
 *
 * Some characters act on a terminal (control characters), some change the order
 * in which others are shown (U+202E), and some are not shown at all (U+200B,
 * tags, variation selectors). A person who reads text of a model, of code or of
 * a stranger must not approve one thing and get another. So each such character
 * is written as its number, "<U+202E>", and a byte that is not UTF-8 as "<9B>".
 *
 * What is hidden depends on what is read:
 *
 *   a name  one line: line feeds and tabs are written as numbers, too
 *   code    line feeds and tabs are kept, and a carriage return before a line
 *           feed is left out; a lone one is shown, as Python ends a line there
 *   prose   carriage returns are left out (progress bars have them). What
 *           languages need is kept: ZWNJ and ZWJ behind a character of a script
 *           that joins (Arabic, Devanagari, ...), ZWJ and U+FE0F behind an
 *           emoji, a selector behind a Han letter. Only one of them each: a
 *           run, which may hide a message, is written as numbers. */
#ifndef SCHEMAS_MESSAGE_GLYPH_H
#define SCHEMAS_MESSAGE_GLYPH_H

#include <stdint.h>

#include "schemas/message/buf.h"

enum glyph_use { READ_NAME, READ_CODE, READ_PROSE };

enum { GLYPH_BYTES = 16 }; /* "<U+10FFFF>", a NUL, and what no code needs */

/* The character at the head of text, and its length. A byte that is not UTF-8
 * is GLYPH_BAD, of length 1. */
#define GLYPH_BAD UINT32_MAX
uint32_t glyph_at(struct view text, size_t *len);

/* Whether a reader of text sees nothing at all: it is white space of any
 * script, or hidden. */
bool glyph_is_blank(struct view text);

/* How many bytes at the head of text a reader sees as they are. before: in, the
 * character in front of text, 0 for none; out, the one in front of what
 * follows. A caller that cuts text into pieces keeps it between calls. */
size_t glyph_run(struct view text, enum glyph_use reading, uint32_t *before);

/* Writes the character at the head of text, at which glyph_run() has stopped,
 * into shown: as a number, or as "" where it is left out. Returns its length in
 * text. */
size_t glyph_show(struct view text, enum glyph_use reading,
                  char shown[GLYPH_BYTES]);

/* Appends text as it is shown. */
void glyph_add(struct buf *out, struct view text, enum glyph_use reading);

/* Appends text as the name of a file to be saved: "_" stands for whatever is
 * hidden or not UTF-8, and for a dash or dots at the beginning that would make
 * it an option, "." or "..". */
void glyph_add_name(struct buf *out, struct view text);

/* Appends JSON in which what is hidden is written as \u202e: the same value. */
void glyph_add_json(struct buf *out, struct view json);

#endif
