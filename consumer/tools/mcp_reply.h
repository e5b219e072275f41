/* mcp_reply.h - the answer to a JSON-RPC request, out of bytes of a server.
 *
 * It comes as one JSON object, or as a stream of events among which it is;
 * which of them is seen by the first byte. Before it there may be
 * notifications, which are passed over, and requests of the server to us. A
 * 2025-03-26 server may put several messages into a list. */
#ifndef CONSUMER_MCP_REPLY_H
#define CONSUMER_MCP_REPLY_H

#include <jansson.h>

#include "consumer/model/sse.h"
#include "schemas/message/err.h"

enum mcp_form { MCP_FORM_OPEN, MCP_FORM_PLAIN, MCP_FORM_STREAM };

/* The server asks for something. id: borrowed, a text or a number. */
typedef void mcp_asked(void *owner, const json_t *id, const char *method);

struct mcp_reply {
    json_int_t id; /* that is waited for */
    mcp_asked *asked;
    void *owner;
    enum mcp_form form;
    struct buf body; /* of a plain one */
    struct sse sse;
    json_t *result; /* owned; one of these when it has come */
    json_t *error;
    bool
        changed; /* the server's tools have: notifications/tools/list_changed */
};

/* max: bytes of a plain one; an event may have SSE_MAX_LINE. */
void mcp_reply_init(struct mcp_reply *reply, json_int_t id, size_t max,
                    mcp_asked *asked, void *owner);
void mcp_reply_finish(struct mcp_reply *reply); /* accepts a zeroed one */

/* True: it has come, no more is wanted. */
bool mcp_reply_feed(struct mcp_reply *reply, struct view bytes);

/* At the end of the bytes: has it come? */
bool mcp_reply_end(struct mcp_reply *reply);

/* Of error: its code, 0 when it has none; its message, "" when it has none. */
json_int_t mcp_error_code(const json_t *error);
const char *mcp_error_message(const json_t *error);

#endif
