/* document.h - what a document from the web says, as text that a model reads.
 *
 * HTML as Markdown, other text as it is; what is no text is refused in a
 * sentence that names its type. */
#ifndef CONSUMER_DOCUMENT_H
#define CONSUMER_DOCUMENT_H

#include <stdint.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum {
    MAX_DOCUMENT = 2 << 20, /* bytes that are read; what follows is not */
    MAX_EXCERPT = 32 << 10, /* of its text, at once */
    MAX_DOCUMENT_JSON = MAX_EXCERPT * 6 + (16 << 10), /* an excerpt, escaped */
};

enum document_kind {
    DOCUMENT_PAGE,
    DOCUMENT_RESULTS, /* a page of a search: search_page.h has what is read */
    DOCUMENT_EXPRESSION, /* expression.h; {"value": N} is read */
};

struct document {
    enum document_kind kind;
    const char *url;  /* its own */
    const char *type; /* Content-Type; "": none */
    struct view bytes;
    uint64_t offset; /* of the excerpt, in bytes of the text */
    bool cut;        /* there were more bytes */
};

/* Appends JSON, of a page {"url", "title", "text", "bytes": of the whole text,
 * "offset", "next_offset": where it goes on; "cut": true, when not all was
 * read}. Error: not_text, too_large, bad_field, a sentence for whoever calls.
 */
bool document_read(const struct document *document, struct buf *out,
                   struct err *err);

#endif
