/* strange_body.h - the body of an answer that is not an API's: what it is, in a
 * few words. A proxy's page is long, and compressed bytes say nothing. */
#ifndef CONSUMER_STRANGE_BODY_H
#define CONSUMER_STRANGE_BODY_H

#include "schemas/message/view.h"

/* "an HTML page: 502 Bad Gateway", "a compressed body (gzip)", into text, which
 * is terminated. body: its beginning is enough. False: it is neither. */
bool strange_body(struct view body, char *text, size_t size);

#endif
