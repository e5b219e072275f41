/* event_stream.h - writes server-sent events (text/event-stream).
 *
 * One event is the line "event: TYPE", one line "data: JSON", and a blank line.
 * It has no id: and no retry:, as clients of Responses expect. The bytes are
 * for http_stream_send(). */
#ifndef PRODUCER_GATEWAY_EVENT_STREAM_H
#define PRODUCER_GATEWAY_EVENT_STREAM_H

#include "producer/gateway/http/http_bytes.h"
#include "schemas/message/err.h"

/* One reference, the caller's. NULL with err when type or data has a CR, LF or
 * NUL, which would begin a line of its own: JSON escapes them. An empty type
 * writes no line for it. */
struct http_bytes *event_stream_event(struct view type, struct view data,
                                      struct err *err);
/* ": k" and a blank line: keeps proxies from ending a silent stream. */
struct http_bytes *event_stream_comment(void);
/* "data: [DONE]" and a blank line: the last of the stream. */
struct http_bytes *event_stream_done(void);

#endif
