/* document.h - reads a document from the web as text for a model. What
 * quern-reader does, and what tools/reader.c asks it for.
 *
 * HTML becomes Markdown, other text stays as it is. A document that is no text
 * is refused by a sentence that names its type. */
#ifndef CONSUMER_DOCUMENT_H
#define CONSUMER_DOCUMENT_H

#include <stdint.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum {
    MAX_DOCUMENT = 2 << 20, /* bytes of a document; the rest is not read */
    MAX_EXCERPT = 32 << 10, /* bytes of its text that one answer has */
    /* An excerpt in which each byte is escaped as \u00xx, and the rest. */
    MAX_DOCUMENT_JSON = MAX_EXCERPT * 6 + (16 << 10),
};

enum document_kind {
    DOCUMENT_PAGE,
    DOCUMENT_RESULTS,    /* a page of results of a search: search_page.h */
    DOCUMENT_EXPRESSION, /* no document, but an expression: expression.h */
};

struct document {
    enum document_kind kind;
    const char *url;  /* of the document; links are relative to it */
    const char *type; /* Content-Type; "": none */
    struct view bytes;
    uint64_t offset; /* where the excerpt begins, in bytes of the text */
    bool cut;        /* bytes are not all: it was longer than MAX_DOCUMENT */
};

/* Appends JSON. Of a page {"url", "title", "text", "bytes": of the whole text,
 * "offset": if not 0, "next_offset": if there is more, "cut": true, if the page
 * was not read to its end}; of results what search_page.h says; of an
 * expression
 * {"value": N}. Error: not_text, too_large, bad_field, tool_failed, a sentence
 * for the caller. */
bool document_read(const struct document *document, struct buf *out,
                   struct err *err);

#endif
