/* search_page.h - the results on DuckDuckGo's page of HTML.
 *
 * It has no other form for programs. Links lead through its own server, with
 * where they lead to as an argument: that is what is taken. */
#ifndef CONSUMER_SEARCH_PAGE_H
#define CONSUMER_SEARCH_PAGE_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

/* html: UTF-8. Appends JSON: {"results": [{"title", "url", "text"}]}. Error:
 * tool_failed, it is a page of another form; too_large. */
bool search_page_read(struct view html, struct buf *out, struct err *err);

#endif
