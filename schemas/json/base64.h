/* base64.h - bytes that JSON cannot hold: RFC 4648, with padding.
 *
 * Inside schemas/json only. */
#ifndef SCHEMAS_JSON_BASE64_H
#define SCHEMAS_JSON_BASE64_H

#include "schemas/message/buf.h"

/* Appends; sticky as every write to a buf. */
void base64_encode(struct view bytes, struct buf *out);

/* Appends; false when text is not what base64_encode() would have made. */
bool base64_decode(struct view text, struct buf *out);

#endif
