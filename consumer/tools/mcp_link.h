/* mcp_link.h - finds out how a server is spoken to, and keeps it.
 *
 *   CLOSED --> PROBING ----------------------------> OPEN   2026-07-28
 *                 `---> GREETING --> CONFIRMING -----' ^    to 2025-11-25
 *   CLOSED -------------'  a session that has expired  |
 *   OPEN --> CLOSED, when a server no longer takes what it did; any --> CLOSED
 *
 * PROBING asks server/discover as the newer generation does. What answers like
 * one of these is one; a server that is there and answers anything else is
 * greeted with initialize, as the older generation wants it. */
#ifndef CONSUMER_MCP_LINK_H
#define CONSUMER_MCP_LINK_H

#include "consumer/alarm.h"
#include "consumer/tools/mcp_exchange.h"

struct mcp_link;

/* why->kind ERR_NONE: it is open. */
typedef void mcp_joined(void *owner, const struct err *why);

struct mcp_waiter {
    struct mcp_waiter *next;
    struct mcp_link *link; /* NULL: it waits for none */
    mcp_joined *joined;
    void *owner;
};

enum mcp_link_state {
    MCP_LINK_CLOSED,
    MCP_LINK_PROBING,
    MCP_LINK_GREETING,
    MCP_LINK_CONFIRMING,
    MCP_LINK_OPEN,
};

struct mcp_link {
    struct mcp_server *server;
    enum mcp_link_state state;
    uint64_t serial; /* of its openings */
    struct mcp_exchange *exchange;
    struct mcp_waiter *waiting, *waking;
    struct err why; /* it is not open */
    struct alarm *wake;
};

/* Borrows the server, whose loop and http are there. */
void mcp_link_init(struct mcp_link *link, struct mcp_server *server);
void mcp_link_finish(struct mcp_link *link); /* accepts a zeroed one */

/* joined comes once, from the loop, never from inside here; then nothing is
 * waited for. */
void mcp_link_join(struct mcp_link *link, struct mcp_waiter *waiter);
void mcp_link_leave(struct mcp_waiter *waiter);

/* The server did not take what was asked in that opening: it is opened anew,
 * once for all who say so. */
void mcp_link_close(struct mcp_link *link, uint64_t serial);

/* Is that what a server answers which has forgotten the session, or has become
 * another one? It has not done what was asked then. */
bool mcp_link_is_stale(const struct mcp_link *link,
                       const struct mcp_answer *answer);

#endif
