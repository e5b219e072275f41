/* mcp_source.c - one server of tools: what it lists, asked until it has told.
 */
#include "consumer/tools/mcp_source.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/log.h"
#include "consumer/model/entry.h"
#include "consumer/text.h"
#include "consumer/tools/mcp_tool.h"

enum {
    MOST_LISTED = 512, /* tools of a server */
    MOST_PAGES = 64,   /* of its list */
    LIST_MS = 15000,   /* for each of these */
    REST_MS = 1000, /* after the first failure, then twice as long each time */
    MOST_REST_MS = 60 * 1000,
};

static void ended(struct mcp_source *source, bool listed)
{
    source->busy = false;
    source->tried = true;
    source->ended(source->owner, listed);
}

static void list_page(struct mcp_source *source, const char *cursor);

static void fail(struct mcp_source *source, const struct err *why)
{
    source->rest_ms = source->rest_ms == 0 ? REST_MS : 2 * source->rest_ms;
    if (source->rest_ms > MOST_REST_MS)
        source->rest_ms = MOST_REST_MS;
    log_line("mcp.away", "{s:s, s:s, s:I}", "server", source->server.name,
             "why", why->text, "wait_ms", (json_int_t)source->rest_ms);
    alarm_set(source->rest, source->rest_ms);
    ended(source, false);
}

void mcp_source_refuse(const struct mcp_source *source, const char *name,
                       const char *why)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, ENTRY_MOST_NAME + 1);
    text_add_line(&line, view_of(name), ENTRY_MOST_NAME);
    buf_append(&line, "", 1);
    log_line("mcp.tool_refused", "{s:s, s:s, s:s}", "server",
             source->server.name, "tool", line.data, "why", why);
}

static const char *name_of(const json_t *said)
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
        mcp_source_refuse(source, name_of(said), why.text);
        return;
    }
    tool_hold(tool);
    if (coming->count < MAX_CATALOG) {
        coming->tools[coming->count++] = tool;
        return;
    }
    mcp_source_refuse(source, name_of(said),
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

/* Those that the operator names and the server has not. */
static void tell_missing(const struct mcp_source *source)
{
    size_t i;
    json_t *name;
    json_array_foreach(source->server.tools, i, name)
        if (!is_listed(source, json_string_value(name)))
            mcp_source_refuse(source, json_string_value(name),
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

/* Of a list that is on its way; cursor: NULL at its end. */
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
        if (mcp_server_wants(&source->server, name_of(said)))
            take_tool(source, said);
        json_array_append_new(names, json_string(name_of(said)));
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
    if (!good)
        mcp_link_close(&source->link, source->link.serial);
    if (!good)
        fail(source, &err);
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
        fail(source, why);
        return;
    }
    listing_finish(&source->coming);
    source->coming.names = json_array();
    source->pages = 0;
    list_page(source, NULL);
}

void mcp_source_list(struct mcp_source *source)
{
    if (source->busy)
        return;
    source->busy = true;
    alarm_stop(source->rest);
    mcp_link_join(&source->link, &source->waiter);
}

/* ------------------------------------------------------------- life cycle */

static void on_rested(void *owner)
{
    mcp_source_list(owner);
}

void mcp_source_start(struct mcp_source *source, const struct tool_host *host,
                      void (*when_ended)(void *owner, bool listed), void *owner)
{
    source->server.loop = host->loop;
    source->server.http = host->http;
    source->ended = when_ended;
    source->owner = owner;
    source->waiter.joined = on_joined;
    source->waiter.owner = source;
    source->rest = alarm_new(host->loop, on_rested, source);
    mcp_link_init(&source->link, &source->server);
    mcp_source_list(source);
}

void mcp_source_stop(struct mcp_source *source)
{
    mcp_exchange_cancel(source->exchange);
    alarm_free(source->rest);
    mcp_link_finish(&source->link);
    mcp_hush(&source->server);
}

void mcp_source_finish(struct mcp_source *source)
{
    listing_finish(&source->coming);
    listing_finish(&source->tools);
    mcp_server_finish(&source->server);
}
