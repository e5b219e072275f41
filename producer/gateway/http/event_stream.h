/* event_stream.h - writes server-sent events (text/event-stream).
 *
 * One event is the line "event: TYPE", one line "data: JSON", and a blank line.
 * It has no retry:, and an id: only where it is asked for: clients of Responses
 * expect none. The bytes are for http_stream_send(). */
#ifndef PRODUCER_GATEWAY_EVENT_STREAM_H
#define PRODUCER_GATEWAY_EVENT_STREAM_H

#include <stdint.h>

#include "producer/gateway/http/http_bytes.h"
#include "schemas/message/err.h"

/* One reference, the caller's. NULL with err when type or data has a CR, LF or
 * NUL, which would begin a line of its own: JSON escapes them. An empty type
 * writes no line for it. */
struct http_bytes *event_stream_event(struct view type, struct view data,
                                      struct err *err);
/* The same behind a line "id: NUMBER". */
struct http_bytes *event_stream_numbered(uint64_t id, struct view type,
                                         struct view data, struct err *err);
/* ": k" and a blank line: keeps proxies from ending a silent stream. */
struct http_bytes *event_stream_comment(void);
/* "data: [DONE]" and a blank line: the last of the stream. */
struct http_bytes *event_stream_done(void);

#endif
