/* mcp_reply.h - the answer to a JSON-RPC request, out of bytes of a server.
 *
 * The answer comes as one JSON object, or in an event of a stream; the first
 * byte tells which. Before it there may be notifications, which are ignored,
 * and requests of the server to us. A server of 2025-03-26 may put several
 * messages into a list. */
#ifndef CONSUMER_MCP_REPLY_H
#define CONSUMER_MCP_REPLY_H

#include <jansson.h>

#include "consumer/model/sse.h"
#include "schemas/message/err.h"

enum mcp_form {
    MCP_FORM_OPEN,   /* nothing but blanks has come */
    MCP_FORM_PLAIN,  /* JSON */
    MCP_FORM_STREAM, /* server-sent events */
};

/* The server asks for something. id: of its request, a text or a number;
 * borrowed for the call, as method is. */
typedef void mcp_asked(void *owner, const json_t *id, const char *method);

struct mcp_reply {
    json_int_t id; /* of the request; other answers are ignored */
    mcp_asked *asked;
    void *owner;
    enum mcp_form form;
    struct buf body; /* MCP_FORM_PLAIN: parsed at its end */
    struct sse sse;  /* MCP_FORM_STREAM */
    json_t *result;  /* one of these two is set when the answer has come */
    json_t *error;
    bool
        changed; /* the server's tools have: notifications/tools/list_changed */
};

/* max: bytes of a plain answer; one in a stream may have SSE_MAX_LINE. asked is
 * called from inside mcp_reply_feed() and mcp_reply_end(). */
void mcp_reply_init(struct mcp_reply *reply, json_int_t id, size_t max,
                    mcp_asked *asked, void *owner);
void mcp_reply_finish(struct mcp_reply *reply); /* accepts a zeroed one */

/* Takes the next bytes. True: the answer has come, no more is needed. */
bool mcp_reply_feed(struct mcp_reply *reply, struct view bytes);

/* At the end of the bytes. True: the answer has come. */
bool mcp_reply_end(struct mcp_reply *reply);

/* The code of an error, 0 when it has none; its message, "" when it has none.
 * error may be NULL. */
json_int_t mcp_error_code(const json_t *error);
const char *mcp_error_message(const json_t *error);

#endif
