/* mcp.c - the servers of tools that the operator has set up. */
#include "consumer/tools/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"
#include "consumer/tools/mcp_source.h"
#include "consumer/tools/mcp_tool.h"
#include "schemas/message/limits.h"

enum {
    MAX_SERVERS = 16,
    /* the function that ends a job in CodeAct mode has its place, too */
    MOST_DESCRIBED = MAX_TOOLS_BYTES - (1 << 10),
    SETTLE_MS = 5000,
};

struct mcp {
    struct mcp_source *sources[MAX_SERVERS];
    size_t count;
    struct mcp_events events;
    void *owner;
    struct alarm *settle;
    bool settled;
};

/* ----------------------------------------------------------------- setting */

static bool take_server(struct mcp *mcp, const char *name, const json_t *entry,
                        struct err *err)
{
    struct mcp_source *source = calloc(1, sizeof(*source));
    if (!source)
        abort();
    if (!mcp_server_read(&source->server, name, entry, err)) {
        mcp_source_finish(source);
        free(source);
        return false;
    }
    mcp->sources[mcp->count++] = source;
    return true;
}

static bool take_entry(void *owner, const char *name, const json_t *entry,
                       struct err *err)
{
    struct mcp *mcp = owner;
    const char *server;
    json_t *one;
    if (strcmp(name, CATALOG_SERVERS) != 0)
        return true;
    if (!json_is_object(entry) || json_object_size(entry) > MAX_SERVERS)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "must be an object {name: {url, ...}} of at most %d",
                       MAX_SERVERS);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)entry, server, one)
        if (!take_server(mcp, server, one, err))
            return err_prefix(err, "%.64s", server);
    return true;
}

struct mcp *mcp_new(void)
{
    struct mcp *mcp = calloc(1, sizeof(*mcp));
    if (!mcp)
        abort();
    return mcp;
}

bool mcp_load(struct mcp *mcp, const char *path, struct err *err)
{
    return *path == '\0' ||
           entry_read_file(path, "{name: {url, ...}}", take_entry, mcp, err);
}

/* ----------------------------------------------------------------- settling */

static void settle(struct mcp *mcp)
{
    if (mcp->settled)
        return;
    mcp->settled = true;
    alarm_stop(mcp->settle);
    mcp->events.settled(mcp->owner);
}

static void on_time(void *owner)
{
    settle(owner);
}

static void on_ended(void *owner, bool listed)
{
    struct mcp *mcp = owner;
    if (listed)
        mcp->events.changed(mcp->owner);
    for (size_t i = 0; i < mcp->count; i++)
        if (!mcp->sources[i]->tried)
            return;
    settle(mcp);
}

/* ------------------------------------------------------------- life cycle */

void mcp_start(struct mcp *mcp, const struct tool_host *host,
               struct mcp_events events, void *owner)
{
    mcp->events = events;
    mcp->owner = owner;
    mcp->settle = alarm_new(host->loop, on_time, mcp);
    alarm_set(mcp->settle, mcp->count > 0 ? SETTLE_MS : 0);
    for (size_t i = 0; i < mcp->count; i++)
        mcp_source_start(mcp->sources[i], host, on_ended, mcp);
}

void mcp_renew(struct mcp *mcp)
{
    for (size_t i = 0; i < mcp->count; i++)
        mcp_source_list(mcp->sources[i]);
}

void mcp_stop(struct mcp *mcp)
{
    if (!mcp->settle)
        return;
    alarm_free(mcp->settle);
    mcp->settle = NULL;
    for (size_t i = 0; i < mcp->count; i++)
        mcp_source_stop(mcp->sources[i]);
}

void mcp_free(struct mcp *mcp)
{
    for (size_t i = 0; mcp && i < mcp->count; i++) {
        mcp_source_finish(mcp->sources[i]);
        free(mcp->sources[i]);
    }
    free(mcp);
}

/* ---------------------------------------------------------------- offering */

static size_t described(const struct tool *tool)
{
    char *text = json_dumps(tool->function, JSON_COMPACT);
    size_t len = text ? strlen(text) : MAX_TOOLS_BYTES;
    free(text);
    return len + 1;
}

static size_t described_of(const struct catalog *catalog)
{
    size_t bytes = 2;
    for (size_t i = 0; i < catalog->count; i++)
        bytes += described(catalog->items[i]);
    return bytes;
}

static void offer(const struct mcp_source *source, struct tool *tool,
                  struct catalog *catalog, size_t *bytes)
{
    size_t more = described(tool);
    struct err why;
    bool fits = *bytes + more <= MOST_DESCRIBED ||
                err_set(&why, ERR_REJECT, "bad_setting",
                        "all tools together would have more than %d bytes of "
                        "description: name those that are wanted",
                        MOST_DESCRIBED);
    /* One place stays free, for what CodeAct mode has beside. */
    fits = fits && (catalog->count < MAX_CATALOG - 1 ||
                    err_set(&why, ERR_REJECT, "bad_setting",
                            "more than %d tools: name those that are wanted",
                            MAX_CATALOG - 1));
    if (fits && catalog_add(catalog, tool, &why))
        *bytes += more;
    else
        mcp_source_refuse(source, tool->name, why.text);
}

void mcp_offer(const struct mcp *mcp, struct catalog *catalog)
{
    size_t bytes = described_of(catalog);
    for (size_t i = 0; i < mcp->count; i++) {
        const struct mcp_source *source = mcp->sources[i];
        for (size_t k = 0; k < source->tools.count; k++)
            offer(source, source->tools.tools[k], catalog, &bytes);
    }
}

bool mcp_expects(const struct mcp *mcp, struct view name)
{
    for (size_t i = 0; i < mcp->count; i++) {
        const struct mcp_source *source = mcp->sources[i];
        CLEANUP(buf_finish) struct buf own;
        buf_init(&own, MAX_NAME_BYTES);
        mcp_tool_name(&source->server, "", &own);
        if (!source->listed && name.len > own.len &&
            memcmp(name.data, own.data, own.len) == 0)
            return true;
    }
    return false;
}
