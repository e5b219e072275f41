/* mcp.c - the servers of tools that the operator has set up. */
#include "consumer/tools/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"
#include "consumer/tools/mcp_tool.h"
#include "schemas/message/limits.h"
#include "schemas/message/text.h"
#include "schemas/service/log.h"

enum {
    MAX_SERVERS = 16,
    /* The rest is for final_answer(), which is described beside them in CodeAct
     * mode. */
    MOST_DESCRIBED = MAX_TOOLS_BYTES - (1 << 10),
    SETTLE_MS = 5000,  /* then jobs begin without the servers that are away */
    MOST_LISTED = 512, /* tools of a server */
    MOST_PAGES = 64,   /* of its list */
    LIST_MS = 15000,   /* for each of these */
    REST_MS = 1000, /* after the first failure, then twice as long each time */
    MOST_REST_MS = 60 * 1000,
};

/* What one server lists. */
struct mcp_listing {
    struct tool *tools[MAX_CATALOG]; /* those that were taken; held */
    size_t count;
    json_t *names; /* of all, as the server calls them; NULL: no list yet */
};

/* One server, and its list.
 *
 *   LISTING --> RESTING --> LISTING   until the first list has come
 *   LISTED --> LISTING                when mcp_renew() asks for it
 *
 * A list comes page by page into coming. It replaces tools only as a whole, so
 * that a failure half way leaves the tools that were there. */
struct mcp_source {
    struct mcp *mcp;
    struct mcp_server server;
    struct mcp_link link;
    struct mcp_waiter waiter;      /* for the link to open */
    struct mcp_exchange *exchange; /* the page that is asked for; or NULL */
    struct alarm *rest;            /* set while RESTING */
    uint64_t rest_ms;              /* of the last rest; 0: none since a list */
    bool busy;                     /* LISTING */
    bool tried;                    /* it has answered, or failed, once */
    bool listed;                   /* it has answered once */
    struct mcp_listing coming, tools;
    size_t pages; /* of coming */
};

struct mcp {
    struct mcp_source *sources[MAX_SERVERS]; /* in the order of the file */
    size_t count;
    struct mcp_events events;
    void *owner;
    struct alarm *settle; /* ends the wait for servers; NULL: not started */
    bool settled;         /* events.settled was called */
};

/* -------------------------------------------------------------- one server */

static void on_ended(struct mcp *mcp, bool listed);

static void ended(struct mcp_source *source, bool listed)
{
    source->busy = false;
    source->tried = true;
    on_ended(source->mcp, listed);
}

static void list_page(struct mcp_source *source, const char *cursor);

static void source_fail(struct mcp_source *source, const struct err *why)
{
    source->rest_ms = source->rest_ms == 0 ? REST_MS : 2 * source->rest_ms;
    if (source->rest_ms > MOST_REST_MS)
        source->rest_ms = MOST_REST_MS;
    log_line("mcp.away", "{s:s, s:s, s:I}", "server", source->server.name,
             "why", why->text, "wait_ms", (json_int_t)source->rest_ms);
    alarm_set(source->rest, source->rest_ms);
    ended(source, false);
}

/* Logs that a tool is not offered. name: as a stranger calls it. */
static void source_refuse(const struct mcp_source *source, const char *name,
                          const char *why)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, ENTRY_MOST_NAME + 1);
    text_add_line(&line, view_of(name), ENTRY_MOST_NAME);
    buf_append(&line, "", 1);
    log_line("mcp.tool_refused", "{s:s, s:s, s:s}", "server",
             source->server.name, "tool", line.data, "why", why);
}

static const char *mcp_name_of(const json_t *said)
{
    const char *name = json_string_value(json_object_get(said, "name"));
    return name ? name : "";
}

static void listing_finish(struct mcp_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        tool_drop(listing->tools[i]);
    json_decref(listing->names);
    *listing = (struct mcp_listing){ 0 };
}

static void take_tool(struct mcp_source *source, const json_t *said)
{
    struct mcp_listing *coming = &source->coming;
    struct err why;
    struct tool *tool = mcp_tool_new(&source->link, said, &why);
    if (!tool) {
        source_refuse(source, mcp_name_of(said), why.text);
        return;
    }
    tool_hold(tool);
    if (coming->count < MAX_CATALOG) {
        coming->tools[coming->count++] = tool;
        return;
    }
    source_refuse(source, mcp_name_of(said),
                  "there are too many before it: name those "
                  "that are wanted");
    tool_drop(tool);
}

static int by_name(const void *a, const void *b)
{
    const struct tool *const *one = a, *const *other = b;
    return strcmp((*one)->name, (*other)->name);
}

static bool is_listed(const struct mcp_source *source, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(source->coming.names, i, one)
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

/* Logs the tools that the operator names and the server does not list. */
static void tell_missing(const struct mcp_source *source)
{
    size_t i;
    json_t *name;
    json_array_foreach(source->server.tools, i, name)
        if (!is_listed(source, json_string_value(name)))
            source_refuse(source, json_string_value(name),
                          "the server does not list it");
}

static void end_list(struct mcp_source *source)
{
    struct mcp_listing *tools = &source->tools;
    tell_missing(source);
    listing_finish(tools);
    *tools = source->coming;
    source->coming = (struct mcp_listing){ 0 };
    qsort(tools->tools, tools->count, sizeof(struct tool *), by_name);
    log_line("mcp.listed", "{s:s, s:s, s:I, s:I}", "server",
             source->server.name, "version", source->server.version, "tools",
             (json_int_t)tools->count, "of",
             (json_int_t)json_array_size(tools->names));
    source->listed = true;
    source->rest_ms = 0;
    ended(source, true);
}

/* Takes one page of a list. *cursor: that of the next page, borrowed from
 * result; NULL: this was the last one. A server could send pages for ever: both
 * tools and pages are bounded. */
static bool take_page(struct mcp_source *source, const json_t *result,
                      const char **cursor, struct err *err)
{
    const json_t *tools = json_object_get(result, "tools");
    json_t *names = source->coming.names, *said;
    size_t i;
    *cursor = json_string_value(json_object_get(result, "nextCursor"));
    if (!json_is_array(tools))
        return err_set(err, ERR_REJECT, "tool_failed",
                       "the server's list has no tools in it");
    if (json_array_size(names) + json_array_size(tools) > MOST_LISTED ||
        ++source->pages > MOST_PAGES)
        return err_set(err, ERR_REJECT, "tool_failed",
                       "the server lists more than %d tools, or on more than "
                       "%d pages",
                       MOST_LISTED, MOST_PAGES);
    json_array_foreach(tools, i, said) {
        if (mcp_server_wants(&source->server, mcp_name_of(said)))
            take_tool(source, said);
        json_array_append_new(names, json_string(mcp_name_of(said)));
    }
    return true;
}

static void on_listed(void *owner, const struct mcp_answer *answer)
{
    struct mcp_source *source = owner;
    struct err err = answer->why;
    const char *cursor = NULL;
    source->exchange = NULL;
    bool good = answer->end == MCP_RESULT &&
                take_page(source, answer->result, &cursor, &err);
    /* Perhaps the server has been replaced by one of the other generation: the
     * next attempt opens the link anew. */
    if (!good)
        mcp_link_close(&source->link, source->link.serial);
    if (!good)
        source_fail(source, &err);
    else if (cursor)
        list_page(source, cursor);
    else
        end_list(source);
}

static void list_page(struct mcp_source *source, const char *cursor)
{
    struct mcp_request request = {
        .era = source->server.era,
        .method = "tools/list",
        .params = json_object(),
        .total_ms = LIST_MS,
    };
    if (cursor)
        json_object_set_new(request.params, "cursor", json_string(cursor));
    source->exchange = mcp_ask(&source->server, &request, on_listed, source);
}

static void on_joined(void *owner, const struct err *why)
{
    struct mcp_source *source = owner;
    if (why->kind != ERR_NONE) {
        source_fail(source, why);
        return;
    }
    listing_finish(&source->coming);
    source->coming.names = json_array();
    source->pages = 0;
    list_page(source, NULL);
}

static void source_list(struct mcp_source *source)
{
    if (source->busy)
        return;
    source->busy = true;
    alarm_stop(source->rest);
    mcp_link_join(&source->link, &source->waiter);
}

static void on_rested(void *owner)
{
    source_list(owner);
}

static void source_start(struct mcp_source *source,
                         const struct tool_host *host)
{
    source->server.loop = host->loop;
    source->server.http = host->http;
    source->waiter.joined = on_joined;
    source->waiter.owner = source;
    source->rest = alarm_new(host->loop, on_rested, source);
    mcp_link_init(&source->link, &source->server);
    source_list(source);
}

static void source_stop(struct mcp_source *source)
{
    mcp_exchange_cancel(source->exchange);
    alarm_free(source->rest);
    mcp_link_finish(&source->link);
    mcp_hush(&source->server);
}

static void source_finish(struct mcp_source *source)
{
    listing_finish(&source->coming);
    listing_finish(&source->tools);
    mcp_server_finish(&source->server);
}

/* ----------------------------------------------------------------- setting */

static bool take_server(struct mcp *mcp, const char *name, const json_t *entry,
                        struct err *err)
{
    struct mcp_source *source = calloc(1, sizeof(*source));
    if (!source)
        abort();
    if (!mcp_server_read(&source->server, name, entry, err)) {
        source_finish(source);
        free(source);
        return false;
    }
    source->mcp = mcp;
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

static void mcp_settle(struct mcp *mcp)
{
    if (mcp->settled)
        return;
    mcp->settled = true;
    alarm_stop(mcp->settle);
    mcp->events.settled(mcp->owner);
}

static void on_time(void *owner)
{
    mcp_settle(owner);
}

/* A listing has ended; listed: with a list. */
static void on_ended(struct mcp *mcp, bool listed)
{
    if (listed)
        mcp->events.changed(mcp->owner);
    for (size_t i = 0; i < mcp->count; i++)
        if (!mcp->sources[i]->tried)
            return;
    mcp_settle(mcp);
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
        source_start(mcp->sources[i], host);
}

void mcp_renew(struct mcp *mcp)
{
    for (size_t i = 0; i < mcp->count; i++)
        source_list(mcp->sources[i]);
}

void mcp_stop(struct mcp *mcp)
{
    if (!mcp->settle)
        return;
    alarm_free(mcp->settle);
    mcp->settle = NULL;
    for (size_t i = 0; i < mcp->count; i++)
        source_stop(mcp->sources[i]);
}

void mcp_free(struct mcp *mcp)
{
    for (size_t i = 0; mcp && i < mcp->count; i++) {
        source_finish(mcp->sources[i]);
        free(mcp->sources[i]);
    }
    free(mcp);
}

/* ---------------------------------------------------------------- offering */

/* The bytes of a description in the list of functions, its comma included. */
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

static void source_offer(const struct mcp_source *source, struct tool *tool,
                         struct catalog *catalog, size_t *bytes)
{
    size_t more = described(tool);
    struct err why;
    bool fits = *bytes + more <= MOST_DESCRIBED ||
                err_set(&why, ERR_REJECT, "bad_setting",
                        "all tools together would have more than %d bytes of "
                        "description: name those that are wanted",
                        MOST_DESCRIBED);
    /* One place stays free, for final_answer() in CodeAct mode. */
    fits = fits && (catalog->count < MAX_CATALOG - 1 ||
                    err_set(&why, ERR_REJECT, "bad_setting",
                            "more than %d tools: name those that are wanted",
                            MAX_CATALOG - 1));
    if (fits && catalog_add(catalog, tool, &why))
        *bytes += more;
    else
        source_refuse(source, tool->name, why.text);
}

void mcp_offer(const struct mcp *mcp, struct catalog *catalog)
{
    size_t bytes = described_of(catalog);
    for (size_t i = 0; i < mcp->count; i++) {
        const struct mcp_source *source = mcp->sources[i];
        for (size_t k = 0; k < source->tools.count; k++)
            source_offer(source, source->tools.tools[k], catalog, &bytes);
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
