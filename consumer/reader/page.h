/* page.h - what a person would read of an HTML page, as Markdown.
 *
 * Headings, paragraphs, lists, tables, links, code and the words that stand for
 * pictures; no scripts, styles, forms, navigation, nor what is hidden. Hostile
 * bytes: memory is bounded here, time only by the process that it runs in. */
#ifndef CONSUMER_PAGE_H
#define CONSUMER_PAGE_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum {
    MAX_PAGE_MEMORY = 192 << 20, /* of the parsed tree */
    MAX_PAGE_TEXT = 4 << 20,     /* what is beyond is left out */
    MAX_PAGE_TITLE = 300,
};

struct page {
    struct buf title; /* one line */
    struct buf text;
};

/* html: UTF-8. url: its own, which links are relative to. Error: too_large, it
 * would take more memory than that. */
bool page_read(struct page *page, struct view html, const char *url,
               struct err *err);
void page_finish(struct page *page);

#endif
