/* mcp_exchange.h - one request to a server of tools, and its answer.
 *
 * A JSON-RPC message in an HTTP POST; the answer is the body, or an event of a
 * stream. A server of the older generation may ask us for something meanwhile
 * (a model, a person, folders): it is told that there is no such method. */
#ifndef CONSUMER_MCP_EXCHANGE_H
#define CONSUMER_MCP_EXCHANGE_H

#include "consumer/tools/mcp_header.h"
#include "consumer/tools/mcp_server.h"

struct mcp_exchange;

struct mcp_request {
    enum mcp_era era; /* how it is written; not MCP_UNKNOWN */
    const char *method;
    bool notice;      /* a notification: no id, and an answer without body */
    json_t *params;   /* an object; taken */
    const char *name; /* of the tool; NULL: no call of a tool */
    const struct header_lines *more;     /* headers; borrowed for the start */
    const struct header_lines *identity; /* those that name the job; the same */
    struct trace trace; /* of the job that it is made for, which outlives it;
                           empty: for the server itself */
    uint64_t total_ms;
};

enum mcp_end {
    MCP_RESULT,   /* also of a notification that was taken */
    MCP_ERROR,    /* a JSON-RPC error, with any HTTP status */
    MCP_REFUSED,  /* an HTTP status that is no success, without such an error */
    MCP_NOT_SENT, /* the server provably did not get it */
    MCP_LOST,     /* sent, but the connection broke, or had no answer in it */
    MCP_LATE,     /* sent, but not answered in time */
};

/* Borrowed for the call of mcp_answered. */
struct mcp_answer {
    enum mcp_end end;
    unsigned int status;  /* HTTP's; 0: none */
    const json_t *result; /* NULL: none; our secrets are starred out in it */
    const json_t *error;  /* NULL: none */
    const char *session;  /* the header Mcp-Session-Id; "": none */
    struct err why;       /* set unless end is MCP_RESULT */
};

typedef void mcp_answered(void *owner, const struct mcp_answer *answer);

/* Sends the request. answered comes once, from the loop, never from inside
 * here; the exchange is freed after it and must not be cancelled any more.
 * Borrows the server. */
struct mcp_exchange *mcp_ask(struct mcp_server *server,
                             const struct mcp_request *request,
                             mcp_answered *answered, void *owner);

/* Gives the request up; answered does not come. A server of the older
 * generation is told when it was the call of a tool; to one of the newer
 * generation the end of the HTTP request says it. Accepts NULL. Not from inside
 * answered. */
void mcp_exchange_cancel(struct mcp_exchange *exchange);

/* Gives up the notifications that are on their way. Nothing can be sent to the
 * server afterwards. */
void mcp_hush(struct mcp_server *server);

#endif
