/* mcp_link.h - opens a server: finds out which generation of the protocol it
 * speaks, and for the older one begins a session.
 *
 *   CLOSED --> PROBING ----------------------------> OPEN   2026-07-28
 *                 `---> GREETING --> CONFIRMING -----' ^    to 2025-11-25
 *   CLOSED -------------'  a session that has expired  |
 *   OPEN --> CLOSED, when a server refuses what it has accepted before
 *   any  --> CLOSED
 *
 * PROBING asks server/discover, a method of the newer generation. A server that
 * answers it is of that generation. When a server answers anything else, it is
 * sent initialize, as the older generation wants it. When a link is opened
 * again, it first tries the generation that it found last.
 *
 * All requests of a server need its link to be open. mcp_link_join() waits for
 * that; however many wait, the link is opened once. */
#ifndef CONSUMER_MCP_LINK_H
#define CONSUMER_MCP_LINK_H

#include "consumer/tools/mcp_exchange.h"
#include "schemas/service/alarm.h"

struct mcp_link;

/* why->kind ERR_NONE: the link is open. Else it could not be opened. */
typedef void mcp_joined(void *owner, const struct err *why);

/* Something that waits for a link. Owned by what waits, which sets joined and
 * owner and must leave before it frees the waiter. */
struct mcp_waiter {
    struct mcp_waiter *next;
    struct mcp_link *link; /* NULL: it does not wait */
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
    uint64_t serial;               /* rises with each end of an opening */
    struct mcp_exchange *exchange; /* the step that is under way; or NULL */
    struct mcp_waiter *waiting;    /* for the next alarm */
    struct mcp_waiter *waking;     /* those that the alarm is telling now */
    struct err why;     /* how the last opening ended; ERR_NONE: well */
    struct alarm *wake; /* tells those that wait */
};

/* Borrows the server, whose loop and http must be set. */
void mcp_link_init(struct mcp_link *link, struct mcp_server *server);
void mcp_link_finish(struct mcp_link *link); /* accepts a zeroed one */

/* Waits for the link to be open, and opens it when it is closed. joined comes
 * once, from the loop, never from inside here; then the waiter does not wait
 * any more. One waiter waits for one link at a time. */
void mcp_link_join(struct mcp_link *link, struct mcp_waiter *waiter);
/* Also for a waiter that does not wait. */
void mcp_link_leave(struct mcp_waiter *waiter);

/* Closes the link, so that the next join opens it anew: the server no longer
 * takes what it took. serial: that of the link when the request was made. Does
 * nothing when the link has been opened anew since then: many calls may fail
 * by the same cause. */
void mcp_link_close(struct mcp_link *link, uint64_t serial);

/* Whether the answer is that of a server which has forgotten the session, or
 * has been replaced by one of another generation. It has not carried out the
 * request then, so the request may be made again. */
bool mcp_link_is_stale(const struct mcp_link *link,
                       const struct mcp_answer *answer);

#endif
