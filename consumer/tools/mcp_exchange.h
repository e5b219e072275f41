/* mcp_exchange.h - one request to a server of tools, and its answer.
 *
 * What the server asks of us meanwhile (a model, a person, folders) is not
 * offered: it is told so. */
#ifndef CONSUMER_MCP_EXCHANGE_H
#define CONSUMER_MCP_EXCHANGE_H

#include "consumer/tools/mcp_header.h"
#include "consumer/tools/mcp_server.h"

struct mcp_exchange;

struct mcp_request {
    enum mcp_era era; /* how it is written */
    const char *method;
    bool notice;      /* it has no id, and its answer no body */
    json_t *params;   /* an object; taken, and what every request says added */
    const char *name; /* of the tool, or NULL */
    const struct header_lines *more;     /* headers; borrowed for the start */
    const struct header_lines *identity; /* those that name the job; the same */
    uint64_t total_ms;
};

enum mcp_end {
    MCP_RESULT,
    MCP_ERROR,    /* JSON-RPC's */
    MCP_REFUSED,  /* an HTTP status, and none of these */
    MCP_NOT_SENT, /* provably */
    MCP_LOST,     /* sent, and not answered: the connection broke */
    MCP_LATE,     /* the same: not in time */
};

struct mcp_answer {
    enum mcp_end end;
    unsigned int status;  /* HTTP's; 0: none */
    const json_t *result; /* these two are borrowed for the call */
    const json_t *error;
    const char *session; /* that the server names; "": none */
    struct err why;      /* a sentence, of all but a result */
};

typedef void mcp_answered(void *owner, const struct mcp_answer *answer);

/* answered comes once, from the loop, never from inside here; then the exchange
 * is gone. */
struct mcp_exchange *mcp_ask(struct mcp_server *server,
                             const struct mcp_request *request,
                             mcp_answered *answered, void *owner);

/* No answer is wanted any more: the server is told, where that is its way.
 * Accepts NULL. */
void mcp_exchange_cancel(struct mcp_exchange *exchange);

/* Notifications that are on their way to the server are given up. */
void mcp_hush(struct mcp_server *server);

#endif
