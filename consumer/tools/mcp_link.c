/* mcp_link.c - connects to an MCP server, and finds out its version of the
 * protocol.
 *
 * Those that wait are told by an alarm, not by the function that ends the
 * opening: so nothing is called from inside mcp_link_join(), and a callback may
 * join, leave or close the link. */
#include "consumer/tools/mcp_link.h"

#include <string.h>

#include "consumer/tools/mcp_reply.h"
#include "schemas/message/text.h"

enum {
    OPEN_MS = 15000,          /* for each of its steps */
    HEADER_MISMATCH = -32020, /* these three: of the newer generation only */
    MISSING_CAPABILITY = -32021,
    UNSUPPORTED_VERSION = -32022,
};

static const char *const legacy_versions[] = { "2025-11-25", "2025-06-18",
                                               "2025-03-26", "2024-11-05" };

static bool is_legacy(const char *version)
{
    size_t count = sizeof(legacy_versions) / sizeof(legacy_versions[0]);
    for (size_t i = 0; version && i < count; i++)
        if (strcmp(version, legacy_versions[i]) == 0)
            return true;
    return false;
}

/* ----------------------------------------------------------------- waiters */

static struct mcp_waiter *pop(struct mcp_waiter **list)
{
    struct mcp_waiter *waiter = *list;
    if (waiter)
        *list = waiter->next;
    return waiter;
}

static void mcp_link_begin(struct mcp_link *link);

/* Tells those that wait. The list is taken as a whole: a waiter that joins from
 * inside a callback waits for the next alarm. When the link was closed between
 * the opening and this alarm, it is opened again before anybody is told. */
static void on_wake(void *owner)
{
    struct mcp_link *link = owner;
    struct mcp_waiter *waiter;
    struct err why = link->why;
    if (link->state == MCP_LINK_CLOSED && why.kind == ERR_NONE) {
        mcp_link_begin(link);
        return;
    }
    link->waking = link->waiting;
    link->waiting = NULL;
    while ((waiter = pop(&link->waking))) {
        waiter->link = NULL;
        waiter->joined(waiter->owner, &why);
    }
}

static void remove_from(struct mcp_waiter **list,
                        const struct mcp_waiter *waiter)
{
    while (*list && *list != waiter)
        list = &(*list)->next;
    if (*list)
        *list = waiter->next;
}

void mcp_link_leave(struct mcp_waiter *waiter)
{
    if (!waiter->link)
        return;
    remove_from(&waiter->link->waiting, waiter);
    remove_from(&waiter->link->waking, waiter);
    waiter->link = NULL;
}

/* The end of an opening, in OPEN or CLOSED. */
static void mcp_link_settle(struct mcp_link *link, enum mcp_link_state state)
{
    link->state = state;
    link->why.kind = ERR_NONE;
    link->serial++;
    alarm_set(link->wake, 0);
}

/* Forgets the generation of the server, too: it may be wrong by now. */
static void mcp_link_fail(struct mcp_link *link, const struct err *why)
{
    mcp_link_settle(link, MCP_LINK_CLOSED);
    link->why = *why;
    link->server->era = MCP_UNKNOWN;
}

/* ----------------------------------------------------------------- opening */

static void mcp_link_ask(struct mcp_link *link, enum mcp_link_state state,
                         const struct mcp_request *request,
                         mcp_answered *answered)
{
    link->state = state;
    link->exchange = mcp_ask(link->server, request, answered, link);
}

static void on_confirmed(void *owner, const struct mcp_answer *answer)
{
    struct mcp_link *link = owner;
    link->exchange = NULL;
    if (answer->end == MCP_RESULT)
        mcp_link_settle(link, MCP_LINK_OPEN);
    else
        mcp_link_fail(link, &answer->why);
}

/* The older generation has three steps: initialize, its answer, and this
 * notification. */
static void confirm(struct mcp_link *link)
{
    struct mcp_request request = {
        .era = MCP_LEGACY,
        .method = "notifications/initialized",
        .notice = true,
        .params = json_object(),
        .total_ms = OPEN_MS,
    };
    mcp_link_ask(link, MCP_LINK_CONFIRMING, &request, on_confirmed);
}

static void on_greeted(void *owner, const struct mcp_answer *answer)
{
    struct mcp_link *link = owner;
    struct mcp_server *server = link->server;
    const char *version =
        json_string_value(json_object_get(answer->result, "protocolVersion"));
    struct err why = answer->why;
    link->exchange = NULL;
    if (answer->end == MCP_RESULT && is_legacy(version)) {
        server->era = MCP_LEGACY;
        snprintf(server->version, sizeof(server->version), "%s", version);
        snprintf(server->session, sizeof(server->session), "%s",
                 answer->session);
        confirm(link);
        return;
    }
    if (answer->end == MCP_RESULT)
        err_set(&why, ERR_REJECT, "tool_failed",
                "the server speaks version \"%.32s\" of the protocol, which is "
                "not known here",
                version ? version : "");
    mcp_link_fail(link, &why);
}

static void greet(struct mcp_link *link)
{
    struct mcp_server *server = link->server;
    struct mcp_request request = {
        .era = MCP_LEGACY,
        .method = "initialize",
        .params = json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion",
                            MCP_LEGACY_VERSION, "capabilities", "clientInfo",
                            "name", "quern", "version", QUERN_VERSION),
        .total_ms = OPEN_MS,
    };
    *server->version = *server->session = '\0';
    mcp_link_ask(link, MCP_LINK_GREETING, &request, on_greeted);
}

static bool has_version(const json_t *versions, bool modern)
{
    size_t i;
    json_t *one;
    json_array_foreach(versions, i, one) {
        const char *version = json_string_value(one);
        if (version && modern ? strcmp(version, MCP_MODERN_VERSION) == 0
                              : is_legacy(version))
            return true;
    }
    return false;
}

/* Whether an answer to the probe leaves no sense in a greeting: the server is
 * not reachable, refuses us, or is of the newer generation. */
static bool is_final(const struct mcp_answer *answer)
{
    const json_t *supported =
        json_object_get(json_object_get(answer->error, "data"), "supported");
    json_int_t code = mcp_error_code(answer->error);
    unsigned int status = answer->status;
    if (answer->end == MCP_NOT_SENT || status == 401 || status == 403 ||
        status == 429 || (status >= 502 && status <= 504))
        return true;
    if (answer->end == MCP_ERROR && code == UNSUPPORTED_VERSION)
        return json_is_array(supported) && !has_version(supported, false);
    return answer->end == MCP_ERROR &&
           (code == HEADER_MISMATCH || code == MISSING_CAPABILITY);
}

static void on_probed(void *owner, const struct mcp_answer *answer)
{
    struct mcp_link *link = owner;
    const json_t *versions =
        json_object_get(answer->result, "supportedVersions");
    link->exchange = NULL;
    if (answer->end == MCP_RESULT && has_version(versions, true)) {
        link->server->era = MCP_MODERN;
        snprintf(link->server->version, sizeof(link->server->version), "%s",
                 MCP_MODERN_VERSION);
        mcp_link_settle(link, MCP_LINK_OPEN);
    } else if (is_final(answer)) {
        mcp_link_fail(link, &answer->why);
    } else {
        greet(link);
    }
}

static void probe(struct mcp_link *link)
{
    struct mcp_request request = {
        .era = MCP_MODERN,
        .method = "server/discover",
        .params = json_object(),
        .total_ms = OPEN_MS,
    };
    mcp_link_ask(link, MCP_LINK_PROBING, &request, on_probed);
}

static void mcp_link_begin(struct mcp_link *link)
{
    if (link->server->era == MCP_LEGACY)
        greet(link);
    else
        probe(link);
}

/* ------------------------------------------------------------- life cycle */

void mcp_link_init(struct mcp_link *link, struct mcp_server *server)
{
    *link = (struct mcp_link){ .server = server };
    link->wake = alarm_new(server->loop, on_wake, link);
}

void mcp_link_finish(struct mcp_link *link)
{
    mcp_exchange_cancel(link->exchange);
    alarm_free(link->wake);
    link->exchange = NULL;
    link->wake = NULL;
}

void mcp_link_join(struct mcp_link *link, struct mcp_waiter *waiter)
{
    waiter->link = link;
    waiter->next = link->waiting;
    link->waiting = waiter;
    /* CLOSED with the alarm set: an opening has just failed. Its error is for
     * this waiter, too. */
    if (link->state == MCP_LINK_OPEN)
        alarm_set(link->wake, 0);
    else if (link->state == MCP_LINK_CLOSED && !alarm_is_set(link->wake))
        mcp_link_begin(link);
}

void mcp_link_close(struct mcp_link *link, uint64_t serial)
{
    if (link->state == MCP_LINK_OPEN && link->serial == serial)
        link->state = MCP_LINK_CLOSED;
}

bool mcp_link_is_stale(const struct mcp_link *link,
                       const struct mcp_answer *answer)
{
    bool refused = answer->status == 400 || answer->status == 404;
    if (answer->end == MCP_ERROR && link->server->era == MCP_MODERN)
        return mcp_error_code(answer->error) == UNSUPPORTED_VERSION;
    return refused && (answer->end == MCP_ERROR || answer->end == MCP_REFUSED);
}
