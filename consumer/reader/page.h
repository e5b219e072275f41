/* page.h - what a person would read of an HTML page, as Markdown.
 *
 * Headings, paragraphs, lists, tables, links, code, and the alternative texts
 * of pictures; no scripts, styles, forms or navigation, and nothing hidden. The
 * page is hostile: memory is bounded here, time by the process (main.c). */
#ifndef CONSUMER_PAGE_H
#define CONSUMER_PAGE_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum {
    MAX_PAGE_MEMORY = 192 << 20, /* of the parsed tree */
    MAX_PAGE_TEXT = 4 << 20,     /* the rest is left out */
    MAX_PAGE_TITLE = 300,
};

/* Filled by page_read(), freed by page_finish() in any case. */
struct page {
    struct buf title; /* one line; empty: none */
    struct buf text;
};

/* html: UTF-8. url: of the page; its links are relative to it, or to its base
 * element. Error: too_large, the tree would exceed MAX_PAGE_MEMORY. */
bool page_read(struct page *page, struct view html, const char *url,
               struct err *err);
void page_finish(struct page *page);

#endif
