/* search_page.h - reads the results on DuckDuckGo's HTML page, which has no
 * form for programs.
 *
 * Links on it lead through DuckDuckGo's own server, and have their target as an
 * argument (uddg), which is taken. */
#ifndef CONSUMER_SEARCH_PAGE_H
#define CONSUMER_SEARCH_PAGE_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

/* html: UTF-8. Appends JSON: {"results": [{"title", "url", "text"}]}. Error:
 * tool_failed, it is a page of another form; too_large. */
bool search_page_read(struct view html, struct buf *out, struct err *err);

#endif
