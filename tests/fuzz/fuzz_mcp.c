/* fuzz_mcp.c - any bytes as what a server of tools answers, whole and in
 * pieces: the same answer or none; the value of a call is JSON of no more than
 * its bound; the tools of a list have names and parameters that models take.
 * The first byte is the seed of the pieces. */
#include <string.h>

#include "consumer/model/entry.h"
#include "consumer/tools/mcp_reply.h"
#include "consumer/tools/mcp_tool.h"
#include "consumer/tools/mcp_value.h"
#include "consumer/tools/tool.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_VALUE = 2000 };

static void on_asked(void *owner, const json_t *id, const char *method)
{
    size_t *asked = owner;
    MUST(json_is_string(id) || json_is_integer(id));
    MUST(method != NULL);
    ++*asked;
}

static void check_value(const json_t *result)
{
    CLEANUP(buf_finish) struct buf out;
    struct err err = { .kind = ERR_NONE };
    buf_init(&out, MOST_VALUE);
    if (!mcp_value_write(result, MOST_VALUE, &out, &err)) {
        MUST(err.kind != ERR_NONE && *err.text != '\0');
        return;
    }
    json_t *value =
        json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    MUST(buf_ok(&out) && value != NULL);
    json_decref(value);
}

/* No line ends early, whatever the arguments are. */
static void check_headers(const json_t *parameters, const json_t *arguments)
{
    struct header_lines lines = { .count = 0 };
    mcp_header_write(parameters, arguments, &lines);
    MUST(lines.count <= MCP_MOST_MARKED && lines.items[lines.count] == NULL);
    for (size_t i = 0; i < lines.count; i++)
        MUST(strpbrk(lines.items[i], "\r\n") == NULL);
    header_lines_finish(&lines);
}

static void check_tool(const json_t *said, const json_t *arguments)
{
    struct mcp_server server = { .name = (char[]){ "s-1" } };
    struct mcp_link link = { .server = &server };
    struct err err = { .kind = ERR_NONE };
    struct tool *tool = mcp_tool_new(&link, said, &err);
    if (tool == NULL) {
        MUST(err.kind != ERR_NONE && *err.text != '\0');
        return;
    }
    const json_t *parameters = json_object_get(tool->function, "parameters");
    MUST(entry_name_is_good(tool->name));
    MUST(strncmp(tool->name, "s_1_", 4) == 0);
    MUST(strchr(tool->name, '-') == NULL);
    MUST(!tool->repeat && tool->foreign && !tool->builtin);
    MUST(parameters_check(parameters, &err));
    check_headers(parameters, arguments);
    tool_hold(tool);
    tool_drop(tool);
}

static void check(const json_t *result)
{
    const json_t *arguments = json_object_get(result, "structuredContent");
    size_t i;
    json_t *said;
    check_value(result);
    json_array_foreach(json_object_get(result, "tools"), i, said)
        check_tool(said, arguments);
}

/* The answer as JSON, or how many requests there were instead; free() it. */
static char *read_reply(const char *data, size_t len, unsigned int seed)
{
    struct mcp_reply reply;
    size_t asked = 0;
    char *made = NULL;
    bool come = false;
    mcp_reply_init(&reply, 1, 1 << 20, on_asked, &asked);
    while (len > 0 && !come) {
        size_t size = seed != 0 ? 1 + (size_t)rand_r(&seed) % 50 : len;
        size = size < len ? size : len;
        come = mcp_reply_feed(&reply, (struct view){ data, size });
        data += size;
        len -= size;
    }
    come = mcp_reply_end(&reply);
    MUST(come == (reply.result != NULL || reply.error != NULL));
    MUST(reply.result == NULL || reply.error == NULL);
    if (reply.result != NULL)
        check(reply.result);
    if (come)
        made =
            json_dumps(reply.result ? reply.result : reply.error, JSON_COMPACT);
    if (made == NULL && asprintf(&made, "%zu", asked) < 0)
        abort();
    mcp_reply_finish(&reply);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(cleanup_free) char *whole = NULL;
    CLEANUP(cleanup_free) char *pieces = NULL;
    if (size == 0)
        return 0;
    whole = read_reply((const char *)data + 1, size - 1, 0);
    pieces = read_reply((const char *)data + 1, size - 1, data[0] + 1u);
    MUST(strcmp(whole, pieces) == 0);
    return 0;
}
